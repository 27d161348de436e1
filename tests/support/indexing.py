"""Signatures, brute force, a simple matcher, and programs that can be killed, for the tests of the index."""

import random
import subprocess
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import lmdb
import numpy as np
from numpy.typing import NDArray

from crawler_dedup import Decision, Match, SignedPage, Verdict
from crawler_dedup.index.decider import RunContext
from crawler_dedup.index.index import Index
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.index.location import Location
from crawler_dedup.index.opening import open_or_create_index
from crawler_dedup.index.profiles import Snapshot
from crawler_dedup.permutedtables import distance
from crawler_dedup.rules.matcher import RuleMatcher
from crawler_dedup.signing.lookup import Lookup
from crawler_dedup.signing.schemes import SimHash
from tests.support import processes
from tests.support.processes import Process

Signatures = NDArray[np.uint64]

SPEC = {"scheme": "test"}

# Signatures


def clusters(seed: int, size: int) -> list[int]:
    """Return uniform signatures, neighbours of earlier signatures at distances 0 to 9, and a spike."""
    source = random.Random(seed)
    signatures: list[int] = []
    while len(signatures) < size:
        kind = source.random()
        if kind < 0.4 or not signatures:
            signatures.append(source.getrandbits(64))
        elif kind < 0.95:
            signatures.append(flipped(source, source.choice(signatures), source.randint(0, 9)))
        else:
            signatures.append(0xABCDEF0123456789)
    return signatures


def flipped(source: random.Random, signature: int, bits: int) -> int:
    """Flip *bits* random bits of *signature*."""
    for bit in source.sample(range(64), bits):
        signature ^= 1 << bit
    return signature


def uniform(seed: int, size: int) -> list[int]:
    """Return evenly distributed signatures."""
    source = random.Random(seed)
    return [source.getrandbits(64) for _ in range(size)]


def spiked(seed: int, size: int) -> list[int]:
    """Return evenly distributed signatures, except every hundredth, which is one of five signatures."""
    signatures = uniform(seed, size)
    signatures[::100] = [signatures[number % 5] for number in range(len(signatures[::100]))]
    return signatures


def crowded(seed: int, size: int) -> list[int]:
    """Return signatures that agree in 36 adjacent bits, so that some table has them all in one bucket."""
    source = random.Random(seed)
    common, turn = source.getrandbits(36), source.choice((0, 28))
    lines = (common << 28 | source.getrandbits(28) for _ in range(size))
    return [(line << turn | line >> 64 - turn) & (1 << 64) - 1 for line in lines]


SPREADS: dict[str, Callable[[int, int], list[int]]] = {
    "uniform": uniform,
    "clustered": clusters,
    "spiked": spiked,
    "crowded": crowded,
}


def array(signatures: list[int] | set[int]) -> Signatures:
    return np.array(sorted(signatures) if isinstance(signatures, set) else signatures, dtype=np.uint64)


def brute_force(held: Signatures, signature: int, max_distance: int) -> list[int]:
    """Return the signatures that a query must find among *held*, which has each once, nearest first."""
    distances = np.bitwise_count(held ^ np.uint64(signature))
    near = distances <= max_distance
    pairs = sorted(zip(distances[near].tolist(), held[near].tolist(), strict=True))
    return [found for _, found in pairs]


def put_meta(directory: Path, name: bytes, content: bytes) -> None:
    """Overwrite an entry of the index's metadata."""
    with lmdb.open(str(directory), max_dbs=8) as env, env.begin(write=True, db=env.open_db(b"meta")) as txn:
        txn.put(name, content)


# Pages


FILING = Lookup(SimHash())
"""The scope in which a crawl files pages by default."""


class ByDistance(Lookup):
    """A simple matcher: a page within the distance is a duplicate."""

    def __init__(self, max_distance: int = 3) -> None:
        super().__init__(SimHash(max_distance))
        self.max_distance = max_distance

    count = staticmethod(RuleMatcher.count)

    def prepare(self, page: SignedPage, _: Snapshot) -> SignedPage:
        return page

    def trim(self, page: SignedPage) -> SignedPage:
        return page

    def compare(self, new: SignedPage, kept: SignedPage) -> Match | None:
        apart = distance(new.signature, kept.signature)
        return Match("near", apart, 1, 1) if apart <= self.max_distance else None

    def choose(
        self, new: SignedPage, kept: Iterable[SignedPage], snapshot_of: Callable[[SignedPage], Snapshot]
    ) -> tuple[SignedPage, Match] | None:
        matches = ((page, self.compare(new, page)) for page in kept)
        return next(((page, match) for page, match in matches if match), None)


def open_store(directory: Path, *, fresh: bool = False, spec: dict[str, str] | None = None) -> DirectoryIndex:
    return DirectoryIndex.open(directory, spec or SPEC, {}, map_size=1 << 30, fresh=fresh)


def open_backend(location: Location, *, fresh: bool = False, spec: dict[str, str] | None = None) -> Index:
    return open_or_create_index(location, spec or SPEC, {}, map_size=1 << 30, fresh=fresh)


def page(number: int, signature: int, scope: str = "") -> SignedPage:
    return SignedPage(key=str(number), url=f"http://example.com/{number}", scope=scope, signature=signature)


def flipped_far(number: int) -> int:
    """Return a signature that is more than 7 bits from that of any other number."""
    return random.Random(number).getrandbits(64)


def number_of(kept: SignedPage) -> int:
    """Return the number of a kept page that :func:`page` has made."""
    return int(kept.url.rpartition("/")[2])


_NOBODY = RunContext()


def settle(store: Index, number: int, claim: int = 0, context: RunContext = _NOBODY) -> bool:
    """End the claim of page *number*: it was handled."""
    return store.end_claim(_decision(number, claim), ByDistance(), context, settled=True, urgent=True).result()


def release(store: Index, number: int, claim: int = 0, context: RunContext = _NOBODY) -> bool:
    """End the claim of page *number*: it was not handled."""
    return store.end_claim(_decision(number, claim), ByDistance(), context, settled=False, urgent=True).result()


def _decision(number: int, claim: int) -> Decision:
    return Decision(Verdict.NEW, f"http://example.com/{number}", str(number), "", claim=claim)


# Programs


def program(code: str, *arguments: object, fresh: bool = False) -> Process:
    """Start Python *code* in a separate process with pipes; *fresh*: start the interpreter anew."""
    return processes.start(["-c", textwrap.dedent(code), *map(str, arguments)], stdin=subprocess.PIPE, fresh=fresh)


def first_line(process: Process) -> str:
    """Return the first line of a program's output; if it fails before, the test fails with the error of the program."""
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    if not line:
        raise AssertionError(process.communicate()[1])
    return line


def write_line(process: Process, line: str) -> None:
    """Write a line to the input of a program."""
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def ask(process: Process, line: str) -> str:
    """Write a line to the input of a program, and return the next line of its output."""
    write_line(process, line)
    return first_line(process)


@contextmanager
def running_program(code: str, *arguments: object) -> Iterator[Process]:
    """Yield a program that has printed its first line, and kill it at the end if it still runs."""
    process = program(code, *arguments)
    try:
        first_line(process)
        yield process
    finally:
        process.kill()
        process.communicate()


def run(code: str, *arguments: object, fresh: bool = False) -> tuple[int, str, str]:
    """Run a program; return its status, its output and its errors."""
    process = program(code, *arguments, fresh=fresh)
    output, errors = process.communicate()
    return process.wait(), output, errors
