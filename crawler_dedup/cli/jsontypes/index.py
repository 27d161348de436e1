"""The JSON Lines of ``index stats`` and ``index verify``."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from crawler_dedup.cli.jsontypes.base import Line


class Index(Line, frozen=True, kw_only=True, tag="index"):
    """What an index is and how large it is: the first line of `crawler-dedup index stats --json`."""

    kind: Annotated[str, Meta(description="`pages`, or `signatures` for an index of bare signatures.")]
    entries: Annotated[int, Meta(description="Number of pages or signatures.")]
    format: Annotated[int, Meta(description="Version of the format on disk.")]
    spec: Annotated[dict[str, str], Meta(description="What the signatures depend on.")]
    libraries: Annotated[dict[str, str], Meta(description="Versions of libraries with which the index was created.")]
    disk_bytes: Annotated[int, Meta(description="Size on disk, or in the memory of a server.")]
    free_share: Annotated[float | None, Meta(description="Share of the file that is free; null where it is no file.")]
    readers: Annotated[
        int | None, Meta(description="Number of open read transactions, in all processes; null where it is no file.")
    ]
    open_claims: Annotated[
        int | None, Meta(description="Number of pages that are not settled; null for an index of signatures.")
    ]
    sites: Annotated[int | None, Meta(description="Number of sites of its pages; null for an index of signatures.")]
    known_sites: Annotated[int | None, Meta(description="Number of sites of which there is a snapshot.")]
    site_bytes: Annotated[int | None, Meta(description="Bytes of what is stored of the sites.")]


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
