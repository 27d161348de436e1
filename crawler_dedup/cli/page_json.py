"""The history of a page, as ``crawler-dedup why --json`` prints it."""

from __future__ import annotations

from crawler_dedup.cli.jsontypes.journal import KeptPage, Page, PageEvent
from crawler_dedup.cli.terminal import iso_time
from crawler_dedup.index.records import Record
from crawler_dedup.inspection.why import PageHistory
from crawler_dedup.journal.entry import Entry


def page_line(page: PageHistory, url: str, scope: str) -> Page:
    """Return the JSON Line with what is known about the page at *url* in *scope*."""
    last = page.last_entry
    return Page(
        url=url,
        scope=scope,
        kept=_kept_page(page.kept),
        duplicate_of=last.duplicate_of if last is not None and page.kept is None else "",
        representative=_kept_page(page.representative),
        events=[_event(entry) for entry in page.entries],
        duplicates=list(page.duplicates),
    )


def _kept_page(record: Record | None) -> KeptPage | None:
    if record is None:
        return None
    return KeptPage(
        url=record.page.url,
        title=record.page.title,
        run=f"{record.run:08x}",
        filed=iso_time(record.filed),
        seen=iso_time(record.seen),
        settled=bool(record.settled),
        dry_run=record.is_dry,
    )


def _event(entry: Entry) -> PageEvent:
    return PageEvent(
        time=entry.time,
        run=entry.run,
        spider=entry.spider,
        event=entry.event,
        duplicate_of=entry.duplicate_of,
        rule=entry.rule,
        distance=entry.distance,
        resemblance=entry.resemblance,
        coverage=entry.coverage,
        reason=entry.reason,
    )
