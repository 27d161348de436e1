"""A signed collection: a directory with a shard for each input, and a receipt for each shard that is whole."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec
from xxhash import xxh3_64_hexdigest, xxh3_128

from crawler_dedup.batch.formats.records import Columns
from crawler_dedup.errors import DedupError
from crawler_dedup.system.callbacks import Advance
from crawler_dedup.system.files import open_replacement

FORMAT = 6
"""Version of the layout of a signed collection."""

_HEADER = "collection.json"
_RECEIPT = ".receipt.json"
_FILES = ("parquet", "bad.jsonl", "receipt.json")
"""Suffixes of the files of a shard, as in :class:`Shard`."""
_PIECE = 1 << 20


class Source(msgspec.Struct, frozen=True):
    """An input in one state.

    Attributes:
        path: its path.
        format: the format of its content.
        bytes: its length.
        changed: when it was changed last, in nanoseconds since 1970.
    """

    path: str
    format: str
    bytes: int
    changed: int

    @classmethod
    def of(cls, path: Path, input_format: str) -> Source:
        """Return an input as it is now. Raises :class:`OSError`."""
        state = path.stat()
        return cls(str(path), input_format, state.st_size, state.st_mtime_ns)

    @property
    def is_current(self) -> bool:
        """Whether the input is still in this state."""
        return self.of(Path(self.path), self.format) == self

    @property
    def shard(self) -> str:
        """The readable name of its shard, which is different for each path."""
        stem = re.sub(r"[^\w.-]", "_", Path(self.path).name)[:100]
        return f"{stem}-{xxh3_64_hexdigest(self.path.encode('utf-8', 'surrogateescape'))[:12]}"


class Description(msgspec.Struct, frozen=True):
    """What is stored as JSON about the directory that the file is in.

    Attributes:
        format: version of the layout of a collection.
    """

    format: int


_Description = TypeVar("_Description", bound=Description)


class CollectionHeader(Description, frozen=True):
    """The header of a signed collection.

    Attributes:
        spec: what the signatures depend on.
        libraries: versions of the libraries on which they depend.
        columns: where the parts of a page are in the inputs.
        scope: ``domain`` or ``language``: the registered domain or language of each page; else the scope of all pages.
        sources: the inputs, in their order.
    """

    spec: dict[str, str]
    libraries: dict[str, str]
    columns: Columns
    scope: str
    sources: list[Source]

    @property
    def identity(self) -> dict[str, str]:
        """The properties in which collections must agree if their pages are compared."""
        return {**self.spec, "scope": self.scope}


class Receipt(msgspec.Struct, frozen=True):
    """The receipt of a complete shard.

    Attributes:
        source: the input that was signed.
        shard_bytes: length of the shard.
        checksum: XXH3 of the shard, 128 bits.
        pages: how many pages it has.
        unsigned: how many of them could not be signed, by reason.
        passed_over: how many records of the input are no pages to be signed, by reason.
        bad: how many records could not be read, by reason.
        details: what exactly is wrong with the first such record, by reason, as far as there is more to say.
    """

    source: Source
    shard_bytes: int
    checksum: str
    pages: int
    unsigned: dict[str, int]
    passed_over: dict[str, int]
    bad: dict[str, int]
    details: dict[str, str]


@dataclass(frozen=True)
class Shard:
    """The files of an input in a collection.

    Attributes:
        source: the input, as it was when this collection was created or continued.
        data: the signed pages.
        bad: the records that could not be read, a JSON object each.
        receipt: written when the two others are whole.
    """

    source: Source
    data: Path
    bad: Path
    receipt: Path

    def is_whole(self, receipt: Receipt) -> bool:
        """Return whether the file of signed pages has the length and checksum in *receipt*: reads all of it."""
        try:
            return self.data.stat().st_size == receipt.shard_bytes and checksum_of(self.data) == receipt.checksum
        except FileNotFoundError:
            return False


class Collection:
    """A signed collection.

    Attributes:
        directory: the directory of the collection.
        header: its header.
        dropped: the inputs of an earlier call of :meth:`create` that are no longer part of the collection.
    """

    def __init__(self, directory: Path, header: CollectionHeader, dropped: Sequence[str] = ()) -> None:
        """Use :meth:`create` or :meth:`open`."""
        self.directory = directory
        self.header = header
        self.dropped = dropped

    @classmethod
    def create(cls, directory: Path, header: CollectionHeader) -> Collection:
        """Create a collection, or continue one that was signed in the same way.

        Raises:
            DedupError: the directory holds a collection that was signed in another way.
        """
        dropped: list[str] = []
        if (directory / _HEADER).exists():
            before = cls.open(directory)
            if not before.discard_without_pages():
                _require_same_signing(directory, before.header, header)
                inputs = {source.path for source in header.sources}
                dropped = [source.path for source in before.header.sources if source.path not in inputs]
        directory.mkdir(parents=True, exist_ok=True)
        write_json(directory / _HEADER, header)
        return cls(directory, header, dropped)

    @classmethod
    def open(cls, directory: Path) -> Collection:
        """Open a collection. Raises :class:`DedupError` where there is none."""
        path = directory / _HEADER
        header = read_description(
            path, CollectionHeader, "holds no signed pages", "run `crawler-dedup batch sign` with another directory"
        )
        return cls(directory, header)

    def discard_without_pages(self) -> bool:
        """Remove all files of the collection unless a page was signed; return whether they were removed."""
        receipts = [*self.directory.glob(f"*{_RECEIPT}")]
        if any(receipt is None or receipt.pages for receipt in map(read_receipt, receipts)):
            return False
        shards = {source.shard for source in self.header.sources}
        shards |= {receipt.name.removesuffix(_RECEIPT) for receipt in receipts}
        for name in (*(f"{shard}.{end}" for shard in shards for end in _FILES), _HEADER):
            (self.directory / name).unlink(missing_ok=True)
        return True

    @property
    def shards(self) -> list[Shard]:
        """All shards, in the order of their inputs."""
        return [
            Shard(source, *(self.directory / f"{source.shard}.{end}" for end in _FILES))
            for source in self.header.sources
        ]

    def require_whole(self, advance: Advance) -> list[Receipt]:
        """Return the receipts of all shards.

        Args:
            advance: called with numbers of shards that were checked.

        Raises:
            DedupError: a shard is missing or damaged; the message names all of them.
        """
        receipts, missing, damaged = [], [], []
        for shard in self.shards:
            receipt = read_receipt(shard.receipt)
            if receipt is None:
                missing.append(shard.source.path)
            elif not shard.is_whole(receipt):
                damaged.append(str(shard.data))
            else:
                receipts.append(receipt)
            advance(1)
        problems = [f"not signed yet: {path}" for path in missing] + [f"damaged: {path}" for path in damaged]
        if problems:
            lines = "\n  ".join(problems)
            raise DedupError(
                f"{self.directory} is not complete. `crawler-dedup batch sign` signs what is missing.\n  {lines}"
            )
        return receipts


def read_description(path: Path, kind: type[_Description], if_missing: str, remedy: str) -> _Description:
    """Read the JSON file that describes the directory that it is in.

    Args:
        if_missing: what the directory is, or is not, if the file is missing.
        remedy: what to do if another version has written the file.

    Raises:
        DedupError: the file is missing or damaged, or another version has written it.
    """
    try:
        content = path.read_bytes()
        written = msgspec.json.decode(content, type=Description).format
        if written != FORMAT:  # whose other fields may be others
            raise DedupError(f"{path.parent} has format {written}, this version has {FORMAT}: {remedy}.")
        return msgspec.json.decode(content, type=kind)
    except FileNotFoundError:
        raise DedupError(f"{path.parent} {if_missing}: there is no {path.name}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DedupError(f"{path} is damaged: {error}. To replace it, {remedy}.") from None


def write_json(path: Path, content: msgspec.Struct) -> None:
    """Write *content* as JSON to a file, which is replaced when all is written."""
    with open_replacement(path) as file:
        file.write(msgspec.json.format(msgspec.json.encode(content)))


def read_receipt(path: Path) -> Receipt | None:
    """Return the receipt in a file, or ``None`` if the shard is not signed or its receipt cannot be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Receipt)
    except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def _require_same_signing(directory: Path, theirs: CollectionHeader, ours: CollectionHeader) -> None:
    """Raise :class:`DedupError` if pages were signed in another way."""
    there, here = _describe_signing(theirs), _describe_signing(ours)
    if differing := [name for name in dict.fromkeys([*there, *here]) if there.get(name) != here.get(name)]:
        lines = [f"  {name}: made with {there.get(name)!r}, now {here.get(name)!r}" for name in differing]
        lines.insert(0, f"The pages in {directory} were signed with other settings:")
        raise DedupError("\n".join([*lines, "Name another directory with -o, or delete this one."]))


def _describe_signing(header: CollectionHeader) -> dict[str, str]:
    """Return the properties that must be the same in all calls that sign a collection."""
    columns = {f"column {name}": value for name, value in msgspec.to_builtins(header.columns).items()}
    return {**header.identity, **columns}


def checksum_of(path: Path) -> str:
    """Return the checksum of a file."""
    state = xxh3_128()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            state.update(piece)
    return state.hexdigest()


def count_reasons(receipts: Sequence[Receipt]) -> dict[str, dict[str, int]]:
    """Return the counts by reason of all *receipts* as keywords: ``unsigned``, ``passed_over``, ``bad``."""
    totals: dict[str, Counter[str]] = {name: Counter() for name in ("unsigned", "passed_over", "bad")}
    for receipt in receipts:
        for name, total in totals.items():
            total.update(getattr(receipt, name))
    return {name: dict(total.most_common()) for name, total in totals.items()}
