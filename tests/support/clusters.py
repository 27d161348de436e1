"""Real clusters for indexes, of several servers on ports of the loopback interface."""

from __future__ import annotations

import random
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from crawler_dedup.index.location import ServerAddress, find_location
from tests.support.servers import Server, serving

_SLOTS = 16_384
_BUS = 10_000  # the distance of the port of the bus from that of the node
_SECONDS = 30.0


class Cluster:
    """A cluster of primaries, which share the slots, and of replicas of the primaries.

    Attributes:
        nodes: the primaries, then the replicas in the same order.
        ports: the ports of the nodes.
    """

    def __init__(self, nodes: list[Server], ports: list[int], primaries: int) -> None:
        self.nodes = nodes
        self.ports = ports
        for port in ports[1:]:
            nodes[0].run("CLUSTER", "MEET", "127.0.0.1", str(port))
        for number in range(primaries):
            slots = range(number * _SLOTS // primaries, (number + 1) * _SLOTS // primaries)
            nodes[number].run("CLUSTER", "ADDSLOTS", *map(str, slots))
        self._wait(lambda: all(self._knows_all(node) for node in nodes))
        for number, replica in enumerate(nodes[primaries:]):
            replica.run("CLUSTER", "REPLICATE", self.name(nodes[number]))
        self._wait(lambda: all(self._is_online(node) for node in nodes[primaries:]))
        self.wait_until_ok()

    @staticmethod
    def _wait(condition: object) -> None:
        end = time.monotonic() + _SECONDS
        while not condition():  # type: ignore[operator]
            assert time.monotonic() < end, "the cluster does not come together"
            time.sleep(0.05)

    def _knows_all(self, node: Server) -> bool:
        return _facts(node)["cluster_known_nodes"] == str(len(self.nodes))

    @staticmethod
    def _is_online(node: Server) -> bool:
        return node.info("replication").get("master_link_status") == "up"

    @staticmethod
    def name(node: Server) -> str:
        """Return the identifier of a node in the cluster."""
        name = node.run("CLUSTER", "MYID")
        return name.decode() if isinstance(name, bytes) else str(name)

    def wait_until_ok(self, without: tuple[Server, ...] = ()) -> None:
        """Wait until all nodes, except those in *without*, report that all slots are served."""
        living = [node for node in self.nodes if node not in without]
        self._wait(lambda: all(_facts(node)["cluster_state"] == "ok" for node in living))

    def owner(self, tag: bytes) -> int:
        """Return the number of the node that serves the keys with a hash tag."""
        from redis.crc import key_slot

        slot = key_slot(tag)
        for node in self.nodes:
            with suppress(OSError):
                for line in _lines(node.run("CLUSTER", "NODES")):
                    words = line.split()
                    ranges = [tuple(map(int, word.split("-"))) for word in words[8:] if word[0] != "["]
                    if "myself" in words[2] and any(part[0] <= slot <= part[-1] for part in ranges):
                        return self.nodes.index(node)
        raise AssertionError("nobody serves it")

    @contextmanager
    def moving(self, tag: bytes, target: int) -> Iterator[Callable[[int], None]]:
        """Begin to move the slot of a hash tag to another node, and end it with the block.

        Yields a function that moves a number of the keys.
        """
        from redis.crc import key_slot

        slot, source = str(key_slot(tag)), self.nodes[self.owner(tag)]
        names = [self.name(node) for node in self.nodes]
        self.nodes[target].run("CLUSTER", "SETSLOT", slot, "IMPORTING", self.name(source))
        source.run("CLUSTER", "SETSLOT", slot, "MIGRATING", names[target])

        def move_keys(count: int) -> None:
            while count > 0 and (keys := source.run("CLUSTER", "GETKEYSINSLOT", slot, str(min(count, 100)))):
                assert isinstance(keys, list)
                port = str(self.ports[target])
                source.run("MIGRATE", "127.0.0.1", port, "", "0", "5000", "KEYS", *keys)
                count -= len(keys)

        yield move_keys
        for node in (self.nodes[target], source, *self.nodes):
            node.run("CLUSTER", "SETSLOT", slot, "NODE", names[target])

    def move(self, tag: bytes, target: int) -> None:
        """Move the slot of a hash tag to another node."""
        with self.moving(tag, target) as move_keys:
            move_keys(1_000_000)

    def move_at_once(self, tag: bytes, target: int) -> None:
        """Move the slot of a hash tag to another node at once, as Valkey 9 can; skip the test if the servers cannot."""
        from redis.crc import key_slot
        from redis.exceptions import ResponseError

        slot, name = str(key_slot(tag)), self.name(self.nodes[target])
        try:
            self.nodes[self.owner(tag)].run("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", name)
        except ResponseError:
            pytest.skip("the servers move slots key by key only")
        self._wait(lambda: self.owner(tag) == target)

    def promote(self, number: int) -> None:
        """Let a replica replace its primary, and wait until it has."""
        self.nodes[number].run("CLUSTER", "FAILOVER")
        self._wait(lambda: self.nodes[number].info("replication")["role"] == "master")

    def url(self, name: str = "0", shards: int | None = None, node: int = 0) -> str:
        """Return the address of an index on it."""
        return f"redis://127.0.0.1:{self.ports[node]}/0?index={name}{f'&shards={shards}' if shards else ''}"

    def address(self, name: str = "0", shards: int | None = None, node: int = 0) -> ServerAddress:
        """Return the address of an index on it in the form that opens the index."""
        address = find_location(self.url(name, shards, node))
        assert isinstance(address, ServerAddress)
        return address


def _facts(node: Server) -> dict[str, str]:
    return dict(line.split(":", 1) for line in _lines(node.run("CLUSTER", "INFO")) if ":" in line)


def _lines(answer: object) -> list[str]:
    return (answer.decode() if isinstance(answer, bytes) else str(answer)).splitlines()


def find_ports(count: int) -> list[int]:
    """Return ports that are free, and whose ports of the bus are free."""
    ports: list[int] = []
    while len(ports) < count:
        port = random.randint(10_000, 30_000)
        with suppress(OSError), socket.socket() as client_port, socket.socket() as bus_port:
            client_port.bind(("127.0.0.1", port))
            bus_port.bind(("127.0.0.1", port + _BUS))
            ports += [port] * (port not in ports)
    return ports


@contextmanager
def clustering(directory: Path, primaries: int = 3, replicas: int = 0, *options: str) -> Iterator[Cluster]:
    """Start a cluster, which ends with the block.

    Args:
        replicas: how many of the primaries have one.
    """
    ports = find_ports(primaries + replicas)
    directory.mkdir(exist_ok=True)
    with ExitStack() as stack:
        nodes = [
            stack.enter_context(
                serving(
                    directory / str(port),
                    *("--port", str(port), "--bind", "127.0.0.1"),
                    *("--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf"),
                    *("--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no"),
                    *(options or ("--save", "3600", "1")),
                )
            )
            for port in ports
        ]
        yield Cluster(nodes, ports, primaries)
