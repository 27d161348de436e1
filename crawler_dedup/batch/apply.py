"""Apply decisions to the inputs: write copies without the near-duplicates, or with a mark on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from os.path import commonpath
from pathlib import Path

import msgspec

from crawler_dedup.batch.clusters import CLUSTERS, read_clusters
from crawler_dedup.batch.collection import FORMAT, checksum_of
from crawler_dedup.batch.find import REPORT, Report, ReportInput
from crawler_dedup.batch.sign import find_files
from crawler_dedup.batch.writers import LeftOut, writer_of
from crawler_dedup.errors import DedupError
from crawler_dedup.system.callbacks import Start
from crawler_dedup.system.files import open_replacement
from crawler_dedup.system.processes import map_in_processes


class CopyReceipt(msgspec.Struct, frozen=True):
    """The receipt of a copy, by which later calls see that the copy is complete and up to date.

    Attributes:
        source: the input, as it was signed.
        decisions: checksum of the file with the decisions.
        mark: the column with the mark; ``""``: there is none.
        bytes: length of the copy.
        checksum: checksum of the copy.
        records: how many records it has.
        left_out: how many pages are left out, or marked.
        damaged: in how many places the input is damaged. What cannot be read there is left out.
        cut_off: the records that are left out because they are cut off: address, or number in the input.
    """

    source: ReportInput
    decisions: str
    mark: str
    bytes: int
    checksum: str
    records: int
    left_out: int
    damaged: int
    cut_off: Sequence[str]


@dataclass(frozen=True)
class Applied:
    """The result of writing copies.

    Attributes:
        files: how many copies there are.
        written_now: how many of them were written by this call; the others had been written before.
        left_out: how many pages are left out of the copies, or marked in them.
        damaged: in how many places each damaged input is damaged.
        cut_off: the records of each that are left out because they are cut off.
    """

    files: int
    written_now: int
    left_out: int
    damaged: dict[str, int]
    cut_off: dict[str, Sequence[str]]


@dataclass(frozen=True)
class _Copy:
    """A copy to write: its source, its path, and the path of its receipt."""

    source: ReportInput
    target: Path

    @property
    def receipt(self) -> Path:
        return self.target.with_name(f"{self.target.name}.receipt.json")


@dataclass(frozen=True)
class _Job:
    """The parameters with which copies are written."""

    clusters: Path
    decisions: str
    mark: str
    strict: bool


_decode_report = msgspec.json.Decoder(Report).decode
_decode_receipt = msgspec.json.Decoder(CopyReceipt).decode


def apply_decisions(
    inputs: Sequence[Path],
    decisions: Path,
    output: Path,
    start: Start,
    *,
    mark: str = "",
    strict: bool = False,
    jobs: int = 1,
) -> Applied:
    """Write copies of *inputs* into *output*. Copies that are complete and up to date are not written again.

    Args:
        decisions: the directory with the decisions.
        mark: the column that gets the identifier of the representative; ``""``: pages that have one are left out.
        strict: whether an input with damaged parts is not copied at all.
        jobs: number of processes.

    Raises:
        DedupError: there are no decisions about an input, or it was changed since it was signed (nothing is copied then);
            or an input cannot be copied (all others are copied then).
    """
    copies = _find_copies(inputs, _read_report(decisions), output)
    clusters = decisions / CLUSTERS
    job = _Job(clusters, checksum_of(clusters), mark, strict)
    waiting = [copy for copy in copies if not _is_done(job, copy)]
    results = map_in_processes(
        partial(_try_to_write, job), waiting, min(jobs, len(waiting)), start("writing", len(waiting)), chunk_size=1
    )
    problems = [problem for problem in results if problem]
    if problems:
        raise DedupError("\n".join(["These inputs were not copied, all others were.", *problems]))
    receipts = [_decode_receipt(copy.receipt.read_bytes()) for copy in copies]
    damaged = [receipt for receipt in receipts if receipt.damaged]
    return Applied(
        len(copies),
        len(waiting),
        sum(receipt.left_out for receipt in receipts),
        {receipt.source.path: receipt.damaged for receipt in damaged},
        {receipt.source.path: receipt.cut_off for receipt in damaged},
    )


def _read_report(decisions: Path) -> Report:
    try:
        report = _decode_report((decisions / REPORT).read_bytes())
    except FileNotFoundError:
        raise DedupError(f"{decisions} holds no decisions: there is no {REPORT}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DedupError(f"{decisions / REPORT} is damaged: {error}") from None
    if report.format != FORMAT:
        raise DedupError(f"{decisions} has format {report.format}, this version has {FORMAT}: sign and search again.")
    return report


def _find_copies(inputs: Sequence[Path], report: Report, output: Path) -> list[_Copy]:
    """Return the copies to write, whose relative paths in *output* are those of the inputs below their common folder."""
    decided = {source.path: source for source in report.inputs}
    paths = find_files(inputs)
    unknown = [str(path) for path in paths if str(path) not in decided]
    changed = [str(path) for path in paths if str(path) in decided and not decided[str(path)].is_current()]
    for problem, names in (("there are no decisions about", unknown), ("changed since it was signed", changed)):
        if names:
            raise DedupError("\n".join(f"{name}: {problem}" for name in names))
    top = Path(commonpath([path.parent for path in paths]))
    copies = [_Copy(decided[str(path)], output.resolve() / path.relative_to(top)) for path in paths]
    if any(str(copy.target) in decided for copy in copies):
        raise DedupError(f"{output}: the copies would replace the inputs.")
    return copies


def _is_done(job: _Job, copy: _Copy) -> bool:
    """Return whether a copy is complete and up to date."""
    try:
        receipt = _decode_receipt(copy.receipt.read_bytes())
        is_same = (receipt.source, receipt.decisions, receipt.mark) == (copy.source, job.decisions, job.mark)
        is_same &= not (job.strict and receipt.damaged)
        return is_same and checksum_of(copy.target) == receipt.checksum
    except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
        return False


def _try_to_write(job: _Job, copy: _Copy) -> str:
    """Write one copy; return the message of an error, or ``""``."""
    try:
        _write_copy(job, copy)
    except DedupError as error:
        return str(error)
    return ""


def _write_copy(job: _Job, copy: _Copy) -> None:
    """Write one copy, in a process that does nothing else meanwhile."""
    try:
        writer = writer_of(copy.source.format)
    except DedupError as error:
        raise DedupError(f"{copy.source.path}: {error}") from None
    left_out = {
        row["record"]: LeftOut(row["representative"], row["rule"], row["resemblance"], row["coverage"])
        for row in read_clusters(job.clusters, copy.source.path)
    }
    copy.receipt.unlink(missing_ok=True)
    copy.target.parent.mkdir(parents=True, exist_ok=True)
    with open_replacement(copy.target) as file:
        copied = writer.copy_input(Path(copy.source.path), file, left_out, job.mark)
        if copied.damaged and job.strict:
            raise DedupError(f"{copy.source.path} is damaged in {copied.damaged:,} places.")
    records = writer.count_records(copy.target)
    if records != copied.records - len(copied.cut_off) - len(left_out) + copied.noted:
        copy.target.unlink()
        raise DedupError(
            f"{copy.source.path}: the copy had {records:,} records and was removed. The input has {copied.records:,}, of"
            f" which {len(copied.cut_off):,} are cut off and {len(left_out):,} left out; {copied.noted:,} have a note."
        )
    receipt = CopyReceipt(
        copy.source,
        job.decisions,
        job.mark,
        copy.target.stat().st_size,
        checksum_of(copy.target),
        records,
        len(left_out),
        copied.damaged,
        copied.cut_off,
    )
    with open_replacement(copy.receipt) as file:
        file.write(msgspec.json.format(msgspec.json.encode(receipt)))
