"""The rows of exports of format 3.

In this format, short pages and lists were compared in another way. They are read as thin pages without known blocks: such
a page stands for no other until it is visited again, when it counts as changed.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from crawler_dedup.index.decoding import decode_struct
from crawler_dedup.index.records import Aliases, Record, RunNumber, checked
from crawler_dedup.signedpage import Count, PageKind, Shown, SignedPage

FORMAT = 3
"""Version of the exports that have such rows."""


class _Page(msgspec.Struct, frozen=True, array_like=True):
    key: str
    url: str
    scope: str
    title: str
    digest: bytes
    size: Count
    kind: Annotated[int, msgspec.Meta(ge=0, le=2)]
    chars: Count
    signature: int
    value: bytes
    features: Count
    sketch: bytes
    feature_digest: bytes
    numbers: bytes
    link_count: Count
    link_chars: Count
    inner_link_chars: Count
    link_digest: bytes
    links: bytes
    alias: str
    text: bytes
    unsigned: str
    partly_hidden: Shown | None = None


class _Record(msgspec.Struct, frozen=True, array_like=True):
    page: _Page
    run: RunNumber
    claim: Count
    filed: int
    seen: int
    settled: int
    stands: bool
    aliases: Aliases


_decode = msgspec.msgpack.Decoder(_Record).decode


def decode(content: bytes | memoryview) -> Record:
    """Decode a row; raise :class:`msgspec.DecodeError` for anything else."""
    older = decode_struct(_decode, content)
    page = {name: value for name, value in msgspec.structs.asdict(older.page).items() if name != "alias"}
    page["kind"] = PageKind.TEXT
    if older.page.kind:
        page |= {"kind": PageKind.THIN, "value": b""}
    return checked(Record(**{**msgspec.structs.asdict(older), "page": SignedPage(**page)}))
