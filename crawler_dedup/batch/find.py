"""Find the near-duplicates of a signed collection: the decisions that a crawl of its pages in a given order would make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import compress
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np

from crawler_dedup.batch.candidates import Candidates, find_candidates
from crawler_dedup.batch.collection import Collection, Description, Source, count_reasons, write_json
from crawler_dedup.batch.decide import PickedPages, PlacedDecision, RememberingMatcher, decide_pages
from crawler_dedup.batch.existing import ExistingPages, open_existing
from crawler_dedup.batch.formats.records import Columns
from crawler_dedup.batch.learning import check_profiles, learn_profiles
from crawler_dedup.batch.neighbours import WORKING_BYTES, Places
from crawler_dedup.batch.output import CLUSTERS, KEPT, VERDICTS, Codes, write_clusters, write_kept
from crawler_dedup.batch.shard import ROW_BYTES, Rows, format_memory, read_rows
from crawler_dedup.config import Config
from crawler_dedup.decision import Verdict
from crawler_dedup.errors import DedupError
from crawler_dedup.index.header import FORMAT, Header
from crawler_dedup.index.profiles import FrozenProfiles
from crawler_dedup.inspection.transfer import read_profiles
from crawler_dedup.rules.counts import can_read
from crawler_dedup.signing.signer import Signer, config_from_spec
from crawler_dedup.system.callbacks import Start

PROFILES, REPORT = "profiles.dedup", "report.json"
MEMORY = 8 << 30
"""Default of the bytes of memory that the process may take."""

_EXISTING_BYTES = 2  # bytes for each page that is kept already
_LIBRARIES = 250 << 20  # bytes that the process takes before any page is read
_JOIN_BYTES = 20 + WORKING_BYTES  # bytes for each row while neighbours are searched
_LEAST = 32 << 20
_CHANGES, _CHANGE = 512 << 20, 2_000  # bytes that deciding takes at most, and for each page


class Report(Description, frozen=True):
    """The result of a search for duplicates.

    Attributes:
        inputs: the inputs in their order.
        pages: how many pages the collection has.
        kept: how many of them are kept.
        verdicts: how many pages got each verdict.
        rules: how many pages each rule has dropped.
        unsigned: how many pages could not be signed, by reason.
        passed_over: how many records of the inputs are no pages to be signed, by reason.
        bad: how many records of the inputs could not be read, by reason.
        candidates: how many pages were near enough to another page to be compared, or had the same identifier.
        known_sites: for how many sites it is known what their pages have in common.
        spec: what the signatures depend on.
        max_distance: largest distance of duplicates, in bits.
        columns: where the parts of a page are in the inputs.
        scope: the scope of the pages, as in the header of the collection.
        profiles: the file with what is known about the sites.
    """

    inputs: list[Source]
    pages: int
    kept: int
    verdicts: dict[str, int]
    rules: dict[str, int]
    unsigned: dict[str, int]
    passed_over: dict[str, int]
    bad: dict[str, int]
    candidates: int
    known_sites: int
    spec: dict[str, str]
    max_distance: int
    columns: Columns
    scope: str
    profiles: str


def find_duplicates(
    directory: Path,
    output: Path,
    config: Config,
    start: Start,
    *,
    order: str = "",
    profiles: Path | None = None,
    against: Path | None = None,
    memory: int = MEMORY,
) -> Report:
    """Find the near-duplicates of the collection in *directory*, and write what is kept into *output*.

    Args:
        config: the thresholds; the settings on which signatures depend are those of the collection.
        order: in which order pages are decided (:func:`~crawler_dedup.batch.shard.read_rows`).
        profiles: an export whose knowledge of sites is used; ``None``: it is learned from the collection.
        against: an export of an index, or another collection, with pages that are kept already. Nothing is learned about
            sites that are known in the index.
        memory: bytes that the process may take.

    Raises:
        DedupError: a shard is missing or damaged, or memory does not suffice.
    """
    collection = Collection.open(directory)
    receipts = collection.require_whole(start("checking", len(collection.shards)))
    count = sum(receipt.pages for receipt in receipts)
    existing = ExistingPages()
    if against is not None:
        existing = open_existing(against, collection, start("checking what is kept", None))
    free = _find_free_memory(count, memory) - _EXISTING_BYTES * existing.count
    signer = Signer(config_from_spec(collection.header.spec, config))
    output.mkdir(parents=True, exist_ok=True)
    rows = read_rows(collection.shards, receipts, order)
    if profiles is None:
        profiles = output / PROFILES
        header = Header(FORMAT, collection.header.spec, collection.header.libraries)
        learn_profiles(rows, profiles, header, existing.known_sites, start("learning sites", None))
    frozen = read_profiles(profiles, collection.header.spec, can_read)
    check_profiles(frozen, collection, count)
    matcher = RememberingMatcher(signer.config, signer.scheme)
    candidates = find_candidates(
        rows, existing, signer.scheme, matcher, frozen, free, start("finding neighbours", None)
    )
    (output / REPORT).unlink(missing_ok=True)  # it is written last: where it exists, all files belong together
    codes, duplicates, rules = _decide(rows, existing, candidates, matcher, frozen, output, start)
    start("writing", None)
    write_kept(output / KEPT, rows, codes, duplicates)
    verdicts = np.bincount(codes, minlength=len(VERDICTS)).tolist()
    counts = {str(verdict): number for verdict, number in zip(VERDICTS, verdicts, strict=True)}
    report = Report(
        inputs=[receipt.source for receipt in receipts],
        pages=count,
        kept=count - counts[Verdict.DUPLICATE] - counts[Verdict.UNCHANGED],
        verdicts=counts,
        rules=dict(rules.most_common()),
        **count_reasons(receipts),
        candidates=int(candidates.rows.sum()),
        known_sites=len(frozen.keys),
        spec=collection.header.spec,
        max_distance=signer.config.max_distance,
        format=collection.header.format,
        columns=collection.header.columns,
        scope=collection.header.scope,
        profiles=str(profiles.resolve()),
    )
    write_json(output / REPORT, report)
    return report


def _find_free_memory(count: int, memory: int) -> int:
    """Return the bytes of *memory* that the rows do not take; raise :class:`DedupError` if they are too few."""
    needed = _LIBRARIES + count * (ROW_BYTES + _JOIN_BYTES)
    least = needed + max(_LEAST, min(_CHANGES, _CHANGE * count))
    if memory < least:
        raise DedupError(
            f"At least {format_memory(least)} of memory is needed (pages: {count:,}): allow more with --memory."
        )
    return memory - needed


def _decide(
    rows: Rows,
    existing: ExistingPages,
    candidates: Candidates,
    matcher: RememberingMatcher,
    profiles: FrozenProfiles,
    output: Path,
    start: Start,
) -> tuple[Codes, Places, Counter[str]]:
    """Decide about all pages, and write those that have a representative. Signed pages that are no candidates are new.

    Returns the code of the verdict on each row, how many pages each row represents, and the drops by rule.
    """
    unchecked, new = VERDICTS.index(Verdict.UNCHECKED), VERDICTS.index(Verdict.NEW)
    codes = np.where(rows.texts | rows.thins, new, unchecked).astype(np.uint8)
    duplicates = np.zeros(len(rows), dtype=np.int64)
    rules: Counter[str] = Counter()
    with TemporaryFile(dir=output) as picked:
        pages = PickedPages(picked, rows.read_contents(candidates.rows))
        before = compress(existing.read(matcher, profiles), candidates.existing)
        order = rows.sort(pages.rows)
        advance = start("deciding", len(order))

        def decide() -> Iterator[PlacedDecision]:
            for decided in decide_pages(pages, order, before, matcher, profiles, output):
                codes[pages.rows[decided.place]] = VERDICTS.index(decided.verdict)
                if decided.representative is not None:
                    duplicates[pages.rows[decided.representative]] += 1
                if decided.match is not None:
                    rules[decided.match.rule] += 1
                yield decided
                advance(1)

        write_clusters(output / CLUSTERS, rows, pages, decide(), existing.name)
    return codes, duplicates, rules
