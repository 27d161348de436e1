"""Apply decisions to the inputs: write copies without the near-duplicates, or with a mark on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from os.path import commonpath
from pathlib import Path

from crawler_dedup.batch.collection import Source, read_description
from crawler_dedup.batch.find import REPORT, Report
from crawler_dedup.batch.formats import Copied, LeftOut, module_of
from crawler_dedup.batch.formats.records import InputPage
from crawler_dedup.batch.output import CLUSTERS, read_clusters
from crawler_dedup.batch.sign import find_files, sign_page
from crawler_dedup.config import Config
from crawler_dedup.config.settings import scope_of
from crawler_dedup.errors import DedupError
from crawler_dedup.index.profiles import site_key
from crawler_dedup.inspection.transfer import read_profiles
from crawler_dedup.owntext.text import make_own_text
from crawler_dedup.pagetext import Format, OwnTextJob, RepeatedBlocks
from crawler_dedup.rules.counts import can_read
from crawler_dedup.rules.sites import decode_profile
from crawler_dedup.signing.signer import cached_signer, config_from_spec
from crawler_dedup.system.callbacks import Start
from crawler_dedup.system.files import open_replacement
from crawler_dedup.system.processes import map_in_processes

OWN_TEXT = "own_text"
"""Name of the column with own texts."""
_Texts = Callable[[Source], Callable[[int], str | None]]


@dataclass(frozen=True)
class Applied:
    """The result of writing copies.

    Attributes:
        files: how many copies there are.
        left_out: how many pages are left out of the copies, or marked in them.
        damaged: in how many places each damaged input is damaged. What cannot be read there is left out.
        cut_off: by damaged input, the records left out because they are cut off: address, or number in the input.
    """

    files: int
    left_out: int
    damaged: dict[str, int]
    cut_off: dict[str, Sequence[str]]


@dataclass(frozen=True)
class _Copy:
    """A copy to write: its source and its path."""

    source: Source
    target: Path


def _read_own_texts(report: Report, text_format: Format, source: Source) -> Callable[[int], str | None]:
    """Return a function from the number of a record, which ascends, to the own text; ``None`` for what is no page."""
    signer = cached_signer(config_from_spec(report.spec, Config()))
    profiles = read_profiles(Path(report.profiles), report.spec, can_read)
    records = module_of(source.format).read_pages(Path(source.path), report.columns, signer.config.max_bytes)
    page = next(records, None)

    def own_text_of(number: int) -> str | None:
        nonlocal page
        while page is not None and page.record < number:
            page = next(records, None)
        if not isinstance(page, InputPage) or page.record > number:
            return None
        scope = scope_of(page.url, report.scope)
        if scope is None:  # it depends on the language of the page
            scope = sign_page(signer, page, report.scope).scope
        snapshot = profiles.snapshot(site_key(scope, page.url))
        repeated = RepeatedBlocks(snapshot.number, decode_profile(snapshot.content).packed_common)
        return make_own_text(signer, page.body, OwnTextJob(page.encoding, repeated, text_format)).text

    return own_text_of


def apply_decisions(
    inputs: Sequence[Path],
    decisions: Path,
    output: Path,
    start: Start,
    *,
    mark: str = "",
    own_text: Format | None = None,
    strict: bool = False,
    jobs: int = 1,
) -> Applied:
    """Write copies of *inputs* into *output*. A copy is there once it is whole.

    Args:
        decisions: the directory with the decisions.
        mark: the column that gets the identifier of the representative; ``""``: pages that have one are left out.
        own_text: the format of the column ``own_text`` with the text of each page; ``None``: there is no such column.
        strict: whether an input with damaged parts is not copied at all.
        jobs: number of processes.

    Raises:
        DedupError: there are no decisions about an input, it was changed since it was signed, or the mark has the name of
            the column with own texts (nothing is copied then); or an input cannot be copied (all others are copied then).
    """
    if own_text and mark == OWN_TEXT:
        raise DedupError(f"There would be two columns {OWN_TEXT!r}: give --mark another name.")
    report = read_description(
        decisions / REPORT, Report, "holds no decisions", "run `crawler-dedup batch sign` and `batch find` again"
    )
    copies = _find_copies(inputs, report, output)
    texts = partial(_read_own_texts, report, own_text) if own_text else None
    write = partial(_try_to_write, clusters=decisions / CLUSTERS, mark=mark, texts=texts, strict=strict)
    results = [*map_in_processes(write, copies, min(jobs, len(copies)), start("writing", len(copies)), chunk_size=1)]
    if problems := [result for result in results if isinstance(result, str)]:
        raise DedupError("\n".join(["These inputs were not copied (any others were):", *problems]))
    done = [
        (copy.source.path, *result) for copy, result in zip(copies, results, strict=True) if not isinstance(result, str)
    ]
    return Applied(
        len(copies),
        sum(left_out for _, left_out, _ in done),
        {path: copied.damaged for path, _, copied in done if copied.damaged},
        {path: copied.cut_off for path, _, copied in done if copied.damaged},
    )


def _find_copies(inputs: Sequence[Path], report: Report, output: Path) -> list[_Copy]:
    """Return the copies to write, whose relative paths in *output* are those of the inputs below their common folder."""
    decided = {source.path: source for source in report.inputs}
    paths = find_files(inputs)
    unknown = [str(path) for path in paths if str(path) not in decided]
    changed = [str(path) for path in paths if str(path) in decided and not decided[str(path)].is_current]
    for problem, names in (
        ("`crawler-dedup batch find` has not decided about it", unknown),
        ("it has changed since it was signed", changed),
    ):
        if names:
            lines = [
                *(f"{name}: {problem}." for name in names),
                "Run `crawler-dedup batch sign` and `batch find` again.",
            ]
            raise DedupError("\n".join(lines))
    top = Path(commonpath([path.parent for path in paths]))
    copies = [_Copy(decided[str(path)], output.resolve() / path.relative_to(top)) for path in paths]
    if any(str(copy.target) in decided for copy in copies):
        raise DedupError(f"{output}: the copies would replace the inputs.")
    return copies


def _try_to_write(
    copy: _Copy, *, clusters: Path, mark: str, texts: _Texts | None, strict: bool
) -> tuple[int, Copied] | str:
    """Write one copy; return how many pages are left out or marked, and its counts; or the message of an error."""
    try:
        return _write_copy(copy, clusters, mark, texts, strict=strict)
    except DedupError as error:
        return str(error)


def _write_copy(copy: _Copy, clusters: Path, mark: str, texts: _Texts | None, *, strict: bool) -> tuple[int, Copied]:
    """Write one copy, in a process that does nothing else meanwhile."""
    path = Path(copy.source.path)
    writer = module_of(copy.source.format)
    left_out = {
        row["record"]: LeftOut(row["representative"], row["rule"]) for row in read_clusters(clusters, copy.source.path)
    }
    added: dict[str, Callable[[int], str | None]] = {}
    if mark:
        added[mark] = lambda record: left_out[record].representative if record in left_out else None
    if texts is not None:
        added[OWN_TEXT] = texts(copy.source)
    copy.target.parent.mkdir(parents=True, exist_ok=True)
    with open_replacement(copy.target) as file:
        copied = writer.copy_input(path, file, {} if mark else left_out, added)
        if copied.damaged and strict:
            raise DedupError(f"{path} is damaged in {copied.damaged:,} places. Without --strict, these are left out.")
    records = writer.count_records(copy.target)
    expected = copied.records - len(copied.cut_off) - (0 if mark else len(left_out)) + copied.noted
    if records != expected:
        copy.target.unlink()
        raise DedupError(
            f"{path}: the copy had {records:,} records instead of {expected:,} and was removed: please report this"
            f" fault of crawler-dedup. The input has {copied.records:,}, of which {len(copied.cut_off):,} are cut off and"
            f" {len(left_out):,} left out; {copied.noted:,} metadata records were added."
        )
    return len(left_out), copied
