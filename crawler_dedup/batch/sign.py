"""Sign the pages of inputs, each input in one process, into a signed collection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import msgspec

from crawler_dedup.batch.collection import (
    FORMAT,
    Collection,
    CollectionHeader,
    Receipt,
    Shard,
    Source,
    checksum_of,
    count_reasons,
    read_receipt,
    write_json,
)
from crawler_dedup.batch.formats import SUFFIXES, find_format, format_of, module_of
from crawler_dedup.batch.formats.records import DEFAULT_COLUMNS, Columns, InputPage
from crawler_dedup.batch.shard import columns_of, write_shard
from crawler_dedup.config import Config
from crawler_dedup.config.settings import default_scope, scope_of
from crawler_dedup.errors import DedupError
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.segmentation import resolve_tokenizer
from crawler_dedup.signing.signer import Signer, cached_signer
from crawler_dedup.system.callbacks import Start
from crawler_dedup.system.files import open_replacement
from crawler_dedup.system.processes import map_in_processes, raise_if_stopped


@dataclass(frozen=True)
class Signing:
    """The result of signing.

    Attributes:
        inputs: how many inputs there are.
        signed_now: how many of them were signed by this call; the others had been signed before.
        damaged: the shards that were damaged, and signed again.
        dropped: the inputs of an earlier call that are no part of the collection any more.
        ignored: how many files in folders are ignored, because their suffixes belong to no format.
        pages: how many pages the inputs have.
        unsigned: how many pages could not be signed, by reason.
        passed_over: how many records are no pages to be signed, by reason.
        bad: how many records could not be read, by reason.
        details: what exactly is wrong with a record that could not be read, by reason, as far as there is more to say.
    """

    inputs: int
    signed_now: int
    damaged: list[Path]
    dropped: Sequence[str]
    ignored: int
    pages: int
    unsigned: dict[str, int]
    passed_over: dict[str, int]
    bad: dict[str, int]
    details: dict[str, str]


def sign_collection(
    inputs: Sequence[Path],
    directory: Path,
    config: Config,
    start: Start,
    *,
    input_format: str | None = None,
    columns: Columns = DEFAULT_COLUMNS,
    scope: str = "",
    jobs: int = 1,
) -> Signing:
    """Sign the pages of *inputs* into *directory*. Inputs that were signed before and did not change are not signed again.

    Args:
        input_format: the format of all inputs; ``None``: each has the format to which its suffix belongs.
        columns: where the parts of a page are.
        scope: pages are compared with those of the same scope; ``domain``: of the same registered domain, ``language``: in
            the same language; ``""``: as ``config.scope`` says.
        jobs: number of processes.

    Raises:
        ConfigError: ``config.scope`` is a callable, and *scope* is empty.
        DedupError: an input cannot be read, none has a page, or the directory holds a collection that was signed in another
            way.
    """
    scope = scope or default_scope(config)
    signer = Signer(resolve_tokenizer(config))
    sources = [Source.of(path, input_format or format_of(path)) for path in find_files(inputs)]
    header = CollectionHeader(FORMAT, signer.spec, signer.libraries, columns, scope, sources)
    collection = Collection.create(directory, header)
    shards = collection.shards
    advance = start("checking", len(shards))
    waiting, damaged = [], []
    for shard in shards:
        receipt = read_receipt(shard.receipt)
        if receipt is None or receipt.source != shard.source:
            waiting.append(shard)
        elif not shard.is_whole(receipt):
            waiting.append(shard)
            damaged.append(shard.data)
        advance(1)
    sign_shard = partial(_sign_shard, config=signer.config, columns=columns, scope=scope)
    advance = start("signing", len(waiting))
    signed = map_in_processes(sign_shard, waiting, min(jobs, len(waiting)), advance, chunk_size=1)
    ignored = sum(find_format(file) is None for folder in inputs if folder.is_dir() for file in _walk(folder))
    try:
        for _ in signed:
            pass
        return _sum_up(shards, len(waiting), damaged, collection.dropped, ignored)
    finally:
        collection.discard_without_pages()


def find_files(inputs: Sequence[Path]) -> list[Path]:
    """Return the files that *inputs* name, each once; for a folder, all files below it whose suffixes belong to a format.

    Raises:
        DedupError: there is none.
    """
    files = [
        file for path in inputs for file in (sorted(filter(find_format, _walk(path))) if path.is_dir() else [path])
    ]
    if not files:
        raise DedupError(f"{', '.join(map(str, inputs))}: there is no file to read ({', '.join(SUFFIXES)}).")
    return list(dict.fromkeys(path.resolve() for path in files))


def _walk(folder: Path) -> Iterator[Path]:
    """Yield all files below *folder*."""
    return (path for path in folder.rglob("*") if path.is_file())


def _sum_up(
    shards: Sequence[Shard], signed_now: int, damaged: list[Path], dropped: Sequence[str], ignored: int
) -> Signing:
    receipts = [receipt for shard in shards if (receipt := read_receipt(shard.receipt)) is not None]
    signing = Signing(
        inputs=len(shards),
        signed_now=signed_now,
        damaged=damaged,
        dropped=dropped,
        ignored=ignored,
        pages=sum(receipt.pages for receipt in receipts),
        **count_reasons(receipts),
        details={reason: text for receipt in reversed(receipts) for reason, text in receipt.details.items()},
    )
    if not signing.pages:
        lines = "".join(
            f"\n  {reason}: {count:,}" + (f" ({signing.details[reason]})" if reason in signing.details else "")
            for reason, count in {**signing.passed_over, **signing.bad}.items()
        )
        raise DedupError(f"The inputs have no page that can be read.{lines}")
    return signing


def _sign_shard(shard: Shard, *, config: Config, columns: Columns, scope: str) -> None:
    """Sign one input, in a process that does nothing else meanwhile."""
    source = Path(shard.source.path)
    shard.receipt.unlink(missing_ok=True)
    pages, passed_over, bad = Counter[str](), Counter[str](), Counter[str]()
    details: dict[str, str] = {}

    def sign_rows(bad_records: IO[bytes]) -> Iterator[tuple[Any, ...]]:
        signer, reader = cached_signer(config), module_of(shard.source.format)
        for record in reader.read_pages(source, columns, config.max_bytes):
            raise_if_stopped()
            if isinstance(record, InputPage):
                page = sign_page(signer, record, scope)
                pages[page.unsigned] += 1
                yield columns_of(record.record, record.time, page)
                continue
            (bad if record.is_bad else passed_over)[record.reason] += 1
            if record.is_bad:
                line = {"record": record.record, "reason": record.reason, "name": record.name}
                line |= {"detail": record.detail} if record.detail else {}
                bad_records.write(msgspec.json.encode(line) + b"\n")
                if record.detail:
                    details.setdefault(record.reason, f"{source}, {record.detail}")

    with open_replacement(shard.data) as data, open_replacement(shard.bad) as bad_records:
        write_shard(data, sign_rows(bad_records))
    receipt = Receipt(
        source=shard.source,
        shard_bytes=shard.data.stat().st_size,
        checksum=checksum_of(shard.data),
        pages=pages.total(),
        unsigned={reason: count for reason, count in pages.items() if reason},
        passed_over=dict(passed_over),
        bad=dict(bad),
        details=details,
    )
    write_json(shard.receipt, receipt)


def sign_page(signer: Signer, page: InputPage, scope: str) -> SignedPage:
    """Sign a page in its scope, which *scope* names as for :func:`scope_of`."""
    return signer.sign(page.url, page.body, encoding=page.encoding, key=page.id, scope=scope_of(page.url, scope))[0]
