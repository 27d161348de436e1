"""The objects that commands print with ``--json``, one a line.

``docs/json.md`` is generated from these types: a docstring is the explanation of a type, the description of a field that of
the field. Fields have the names of the Python API and of the journal.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta


class Line(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """An object that stands on a line by itself. A subclass gives its ``type`` as ``tag``."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """An object within a line."""


class Setting(Line, frozen=True, kw_only=True, tag="setting"):
    """A setting, as `crawler-dedup settings --json` prints it."""

    name: Annotated[str, Meta(description="Name, as in `DEDUP_MAX_DISTANCE`.")]
    default: Annotated[Any, Meta(description="Default value.")]
    allowed: Annotated[str, Meta(description="Which values are allowed, in words.")]
    explanation: Annotated[str, Meta(description="What the setting does (Markdown).")]


class Index(Line, frozen=True, kw_only=True, tag="index"):
    """What an index is and how large it is: the first line of `crawler-dedup index stats --json`."""

    kind: Annotated[str, Meta(description="`pages`, or `signatures` for an index of bare signatures.")]
    entries: Annotated[int, Meta(description="Number of pages or signatures.")]
    format: Annotated[int, Meta(description="Version of the format on disk.")]
    spec: Annotated[dict[str, str], Meta(description="What the signatures depend on.")]
    libraries: Annotated[dict[str, str], Meta(description="Versions of libraries with which the index was created.")]
    disk_bytes: Annotated[int, Meta(description="Size on disk.")]
    free_share: Annotated[float, Meta(description="Share of the file that is free.")]
    readers: Annotated[int, Meta(description="Number of open read transactions, in all processes.")]
    open_claims: Annotated[
        int | None, Meta(description="Number of pages that are not settled; null for an index of signatures.")
    ]


class IndexScope(Line, frozen=True, kw_only=True, tag="index_scope"):
    """A scope of an index: `crawler-dedup index stats --json` prints one line for each."""

    scope: Annotated[str, Meta(description="Name of the scope.")]
    pages: Annotated[int, Meta(description="Number of pages in it.")]


class IndexRun(Line, frozen=True, kw_only=True, tag="index_run"):
    """A run that filed pages in an index: `crawler-dedup index stats --json` prints one line for each."""

    run: Annotated[str, Meta(description="Number of the run, 8 hexadecimal digits.")]
    pages: Annotated[int, Meta(description="Number of pages that it filed.")]
    last_filed: Annotated[str | None, Meta(description="When it filed its last page; null if that is unknown.")]


class IndexProblem(Line, frozen=True, kw_only=True, tag="index_problem"):
    """Damage in an index, as `crawler-dedup index verify --json` prints it. There is no line for a sound index."""

    message: Annotated[str, Meta(description="What is damaged, in words.")]
    repaired: Annotated[bool, Meta(description="Whether --repair has repaired it.")]


class Crawl(Line, frozen=True, kw_only=True, tag="crawl"):
    """What came of a crawl, as `crawler-dedup crawl --json` prints it."""

    checked: Annotated[int, Meta(description="Number of pages about which the filter decided.")]
    kept: Annotated[int, Meta(description="Number of new pages.")]
    dropped: Annotated[int, Meta(description="Number of pages that were dropped as near-duplicates of kept pages.")]
    marked: Annotated[int, Meta(description="Number of such pages that passed, as in a dry run.")]
    unchanged: Annotated[int, Meta(description="Number of pages that were seen before, and have not changed.")]
    changed: Annotated[int, Meta(description="Number of pages that were seen before, and have changed.")]
    unchecked: Annotated[int, Meta(description="Number of pages that could not be judged, and passed.")]
    failed: Annotated[int, Meta(description="Number of pages that could not be fetched.")]
    failed_starts: Annotated[int, Meta(description="Number of given URLs that could not be crawled.")]
    items: Annotated[int, Meta(description="Number of pages that were handed to the feeds.")]
    feeds: Annotated[list[str], Meta(description="Files and other URIs to which pages were written.")]
    failed_feeds: Annotated[bool, Meta(description="Whether pages may be missing in a feed, because it failed.")]
    index: Annotated[str, Meta(description="Directory of the index and of the journal.")]


LINES: tuple[type[Line], ...] = (Setting, Index, IndexScope, IndexRun, IndexProblem, Crawl)
"""All types of lines, in the order of ``docs/json.md``."""
