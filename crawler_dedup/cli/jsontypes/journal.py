"""JSON Lines of the commands that read a journal: ``drops``, ``why``, ``forget`` and ``report``."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from crawler_dedup.cli.jsontypes.base import Line, Part


class Drop(Line, frozen=True, kw_only=True, tag="drop"):
    """A dropped page, as `crawler-dedup drops --json` prints it: a line of the [journal](journal.md)."""

    version: Annotated[int, Meta(description="Version of the journal's fields.")]
    time: Annotated[str, Meta(description="When the page was dropped.")]
    run: Annotated[str, Meta(description="Number of the run, 8 hexadecimal digits.")]
    event: Annotated[str, Meta(description='`"drop"`; `"mark"`: the page was marked as a duplicate and passed.')]
    spider: Annotated[str, Meta(description="Name of the spider.")]
    scope: Annotated[str, Meta(description="What the page was compared with.")]
    url: Annotated[str, Meta(description="Address of the page.")]
    duplicate_of: Annotated[str, Meta(description="Address of the kept page that stands for it.")]
    rule: Annotated[str, Meta(description="Rule that decided.")]
    distance: Annotated[int | None, Meta(description="Distance of the signatures in bits; null: the scheme has none.")]
    resemblance: Annotated[float | None, Meta(description="Estimated resemblance of the two pages.")]
    coverage: Annotated[float | None, Meta(description="Estimated share of the page that the kept page covers.")]
    title: Annotated[str, Meta(description="Title of the page.")]
    bytes: Annotated[int, Meta(description="Size of its body.")]
    links: Annotated[int, Meta(description="Number of its outlinks.")]
    reason: Annotated[str, Meta(description="Empty: only pages that could not be judged have a reason.")]
    text: Annotated[str, Meta(description="Its main text in base64, compressed with Zstandard, if it was stored.")]
    snapshot: Annotated[
        int | None,
        Meta(description="Number of the snapshot of its site that the rules saw; 0: none; null: the line is older."),
    ]
    kept_snapshot: Annotated[int | None, Meta(description="Number of that of the kept page's site.")]


class Run(Line, frozen=True, kw_only=True, tag="run"):
    """A run, as `crawler-dedup drops --summary --json` prints it; the latest run is the last one."""

    run: Annotated[str, Meta(description="Number of the run, 8 hexadecimal digits.")]
    first: Annotated[str | None, Meta(description="When it began, or its first entry; null: not known.")]
    last: Annotated[str | None, Meta(description="Time of its last entry; null: not known.")]
    spiders: Annotated[list[str], Meta(description="Names of its spiders, at most five.")]
    drops: Annotated[int, Meta(description="Number of its drops.")]
    is_before_emptying: Annotated[
        bool, Meta(description="Whether the index was emptied after it: the other lines do not count its drops.")
    ]


class DropCount(Line, frozen=True, kw_only=True, tag="drop_count"):
    """A number of drops, as `crawler-dedup drops --summary --json` prints it."""

    by: Annotated[
        Literal["rule", "host", "duplicate_of"],
        Meta(description="What these drops have in common; `host` is that of the dropped page."),
    ]
    value: Annotated[str, Meta(description="The rule, host or address.")]
    drops: Annotated[
        int, Meta(description="Number of drops; with more than 100,000 different values, at least so many.")
    ]


class KeptPage(Part, frozen=True, kw_only=True):
    """A page that the index keeps."""

    url: Annotated[str, Meta(description="Its address.")]
    title: Annotated[str, Meta(description="Its title.")]
    run: Annotated[str, Meta(description="Number of the run that filed it, 8 hexadecimal digits.")]
    filed: Annotated[str | None, Meta(description="When it was filed; null: not known.")]
    seen: Annotated[str | None, Meta(description="When it was visited last; null: not known.")]
    settled: Annotated[bool, Meta(description="Whether it was handled. A page that was not stands for no other page.")]
    dry_run: Annotated[
        bool, Meta(description="Whether only dry runs have kept it. It represents nothing for other runs.")
    ]


class PageEvent(Part, frozen=True, kw_only=True):
    """What the journal says of a page at one time; the fields are those of the [journal](journal.md)."""

    time: Annotated[str, Meta(description="When.")]
    run: Annotated[str, Meta(description="Number of the run, 8 hexadecimal digits.")]
    spider: Annotated[str, Meta(description="Name of the spider.")]
    event: Annotated[str, Meta(description='`"drop"`, `"mark"`, `"unchanged"` and so on.')]
    duplicate_of: Annotated[str, Meta(description="Address of the kept page that stands for the page, or empty.")]
    rule: Annotated[str, Meta(description="Rule that decided, or empty.")]
    distance: Annotated[int | None, Meta(description="Distance of the signatures in bits; null: not measured.")]
    resemblance: Annotated[float | None, Meta(description="Estimated resemblance; null: not measured.")]
    coverage: Annotated[float | None, Meta(description="Estimated coverage; null: not measured.")]
    reason: Annotated[str, Meta(description="Why the page could not be judged, or empty.")]


class Page(Line, frozen=True, kw_only=True, tag="page"):
    """What is known about a page, as `crawler-dedup why --json` prints it; one line for each scope in which it is known."""

    url: Annotated[str, Meta(description="Address of the page.")]
    scope: Annotated[str, Meta(description="What it was compared with.")]
    kept: Annotated[KeptPage | None, Meta(description="The page in the index; null: it is not kept.")]
    duplicate_of: Annotated[str, Meta(description="Address of the page that stands for it, or empty.")]
    representative: Annotated[
        KeptPage | None, Meta(description="That page in the index; null: it is not kept any more.")
    ]
    events: Annotated[
        list[PageEvent], Meta(description="Journal entries of the page, the latest last, at most twenty.")
    ]
    duplicates: Annotated[
        list[str],
        Meta(
            description="Addresses of the pages for which it stands; if it is not kept, for which its representative does."
        ),
    ]


class Forgotten(Line, frozen=True, kw_only=True, tag="forgotten"):
    """What `crawler-dedup forget --json` has removed."""

    pages: Annotated[int, Meta(description="Number of pages that were removed from the index.")]
    duplicates: Annotated[
        list[str] | None,
        Meta(
            description="Addresses of the pages that were dropped because of them; null without `--url` and `--export`."
        ),
    ]


class Report(Line, frozen=True, kw_only=True, tag="report"):
    """What `crawler-dedup report --json` has written."""

    file: Annotated[str, Meta(description="The HTML file.")]
    bytes: Annotated[int, Meta(description="Its size.")]
    runs: Annotated[int, Meta(description="Number of runs that the figures add up.")]
    earlier_runs: Annotated[
        int, Meta(description="Number of runs before the index was emptied, which are not in the figures.")
    ]
    dry_runs: Annotated[
        int, Meta(description="Number of dry runs, which are not in the other numbers if other runs are.")
    ]
    first: Annotated[str | None, Meta(description="When the first of them began; null: not known.")]
    last: Annotated[str | None, Meta(description="Time of their last page or entry; null: not known.")]
    kept: Annotated[int, Meta(description="Pages that the index holds.")]
    dropped: Annotated[int, Meta(description="Duplicates that were dropped.")]
    marked: Annotated[int, Meta(description="Duplicates that were marked and passed.")]
    unchanged: Annotated[int, Meta(description="Pages that came again as they were.")]
    unchecked: Annotated[int, Meta(description="Pages that could not be judged.")]
