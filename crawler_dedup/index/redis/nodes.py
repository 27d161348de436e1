"""The nodes of a cluster: which one serves the keys with a hash tag."""

from __future__ import annotations

from binascii import crc_hqx
from dataclasses import dataclass
from typing import Any

_SLOTS = 16_384
Node = tuple[str, int]
"""Host and port."""

known_nodes: dict[str, tuple[Node, ...]] = {}
"""The nodes of each cluster, by the address of one of them: if that node is away, any other leads to the rest."""


def find_slot(tag: bytes) -> int:
    """Return the slot of the keys with the hash tag *tag*."""
    return crc_hqx(tag, 0) % _SLOTS


@dataclass(frozen=True)
class Nodes:
    """The nodes of a cluster, as one of them reports them.

    Attributes:
        primary: the node that serves the requested slot; ``None`` if there is none.
        all: all nodes.
        is_here: whether *primary* is the node that was asked.
    """

    primary: Node | None
    all: tuple[Node, ...]
    is_here: bool


def read_nodes(answer: list[Any], slot: int, here: Node, own_id: bytes) -> Nodes:
    """Read the answer to ``CLUSTER SLOTS``.

    Args:
        here: the node that has answered. It may not know its own host.
        own_id: the name of that node in the cluster.
    """
    primary, found, is_here = None, dict[Node, None](), False
    for first, last, *nodes in answer:
        for at, (host, port, *more) in enumerate(nodes):
            name = (host or b"").decode()
            node = (here[0] if name in ("", "?") else name, int(port))
            found[node] = None
            if at == 0 and first <= slot <= last:
                primary, is_here = node, more[:1] == [own_id]
    return Nodes(primary, tuple(found), is_here)
