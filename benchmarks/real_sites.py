"""What the filter does on saved real sites: ``python -m benchmarks.real_sites [mirrors|addresses|sessions|killed]``.

Without an argument, all four crawls are run. Each starts with a fresh index.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.sitecrawl import Crawled, run
from tests.support.data import contents, html_pages, labelled_pairs, page_id, require_data, served

console = Console(width=140)


def addresses(folder: Path) -> None:
    """Crawl debian-faq, where every page has two addresses."""
    with served("debian-faq") as origin:
        done = _crawl(origin, folder)
    console.print(f"[bold]addresses[/]: {len(html_pages('debian-faq'))} pages of debian-faq; {_counts(done)}")


def mirrors(folder: Path) -> None:
    """Crawl two states of one site on two hosts into one index with the scope global."""
    pairs = [("gopl-zh-2024", "gopl-zh-2025", ()), ("devtang-2015", "devtang-2018", ("http://blog.devtang.com",))]
    for first, second, origins in pairs:
        job = folder / second
        job.mkdir()
        options = [word for origin in origins for word in ("--rewrite-origin", origin)]
        with served(first, *options) as origin:
            before = _crawl(origin, job, DEDUP_SCOPE="global")
        (job / "items.jsonl").unlink()
        with served(second, *options) as mirror:
            after = _crawl(mirror, job, DEDUP_SCOPE="global")
        console.print(f"[bold]mirrors[/]: {first}: {_counts(before)}")
        console.print(f"then {second}: {_counts(after)}")
        sites = {mirror: second, origin: first}
        items = (job / "items.jsonl").read_text(encoding="utf-8").splitlines()
        stored = {_identify(json.loads(item)["url"], sites) for item in items}
        drops = {_identify(drop["url"], sites): (_identify(drop["kept"], sites), drop) for drop in after.drops}
        _report(first, second, stored, drops)


def _report(first: str, second: str, stored: set[str], drops: dict[str, tuple[str, dict[str, Any]]]) -> None:
    label: dict[frozenset[str], object] = {}
    twins: set[str] = set()
    for pair in labelled_pairs():
        ids = frozenset((pair["id_a"], pair["id_b"]))
        label[ids] = pair["label"]
        if pair["label"] == 1 and {document_id.split("/")[0] for document_id in ids} == {first, second}:
            twins |= {document_id for document_id in ids if document_id.startswith(f"{second}/")}
    gone = drops.keys() - stored
    console.print(
        f"labelled duplicates of {second} in {first}: {len(twins)}; dropped {len(twins & gone)}\n"
        f"pages of which only a further address was dropped: {len(drops.keys() & stored)}"
    )
    table = Table(title=f"dropped pages of {second} without a labelled twin in {first}", title_justify="left")
    for column in ("dropped", "kept", "label of the two", "distance", "rule"):
        table.add_column(column, overflow="fold")
    for page in sorted(gone - twins):
        kept, drop = drops[page]
        table.add_row(page, kept, str(label.get(frozenset((page, kept)), "-")), str(drop["distance"]), drop["rule"])
    console.print(table)


def _identify(url: str, sites: dict[str, str]) -> str:
    origin = next(origin for origin in sites if url.startswith(origin + "/"))
    return page_id(sites[origin], url)


def sessions(folder: Path) -> None:
    """Crawl debian-faq with another session identifier on every link, which is endless without the filter."""
    with served("debian-faq", "--session-links") as origin:
        done = _crawl(origin, folder, start="/index.html")
    console.print(f"[bold]sessions[/]: ended with {done.stats['downloader/request_count']} requests; {_counts(done)}")
    with served("debian-faq", "--session-links") as origin:
        plain = _crawl(origin, folder, start="/index.html", DEDUP_ENABLED=False, CLOSESPIDER_PAGECOUNT=2000)
    console.print(
        f"without the filter: {plain.stats['response_received_count']} pages and {plain.stats['finish_reason']}"
    )


def killed(folder: Path) -> None:
    """Kill a crawl with SIGKILL in the middle, then crawl again on the same index without JOBDIR."""
    site = "gopl-zh-2024"
    with served(site) as origin:
        whole = folder / "whole.jsonl"
        undisturbed = run(f"{origin}/_all.html", items=whole, settings={"DEDUP_DIR": folder / "one"})
        assert undisturbed is not None
        parts = []
        took = float(undisturbed.stats["elapsed_time_seconds"])
        for number, after in enumerate((2 + took * 0.3, 2 + took * 0.6, None)):
            parts.append(folder / f"part{number}.jsonl")
            done = run(f"{origin}/_all.html", items=parts[-1], settings={"DEDUP_DIR": folder / "two"}, kill_after=after)
            console.print(
                f"[bold]killed[/]: run {number + 1}: {_counts(done) if done else f'kill -9 after {after:.1f} s'}"
            )
    wanted, stored = contents([whole]), contents(parts)
    console.print(
        f"contents of the undisturbed run: {len(wanted)}; missing after kills and restart: {len(wanted.keys() - stored)};"
        f" stored more than once: {sum(count > 1 for count in stored.values())}"
    )


def _crawl(origin: str, folder: Path, *, start: str = "/_all.html", **settings: object) -> Crawled:
    done = run(f"{origin}{start}", items=folder / "items.jsonl", settings={"DEDUP_DIR": folder / "index", **settings})
    assert done is not None
    return done


def _counts(done: Crawled) -> str:
    names = ("checked", "kept", "dropped", "unchanged", "changed", "unchecked")
    return ", ".join(f"{name} {done.stats[f'dedup/{name}']}" for name in names if f"dedup/{name}" in done.stats)


def main() -> None:
    """Run the crawls that the command line names."""
    require_data()
    known = {measurement.__name__: measurement for measurement in (addresses, mirrors, sessions, killed)}
    for name in sys.argv[1:] or known:
        with tempfile.TemporaryDirectory() as folder:
            known[name](Path(folder))


if __name__ == "__main__":
    main()
