"""How good is the text of a page without what its site repeats? ``python -m benchmarks.owntext [PART …]``.

Parts: ``kinds`` (pages of sites of which nothing is known, beside other extractors), ``lines`` (the lines that are removed
and kept, beside the line rules of C4 as datatrove has them), ``sites`` (what is repeated in the texts of saved sites),
``gold`` (the words of reference texts that the text lacks, although the compared text has them), ``cost`` (processor time
for a page of a known site in the worker, and on the event loop).
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import re
import statistics
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from urllib.parse import urljoin

import trafilatura
from lxml import html
from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.encoding import detect_encoding
from rich.console import Console
from rich.table import Table

from benchmarks.extraction import EXTRACTORS, Score, report, score
from benchmarks.kinds import KINDS_OF_PAGES, read_pages, split_words
from crawler_dedup import Config, Deduplicator
from crawler_dedup.crawl.workers import Workers
from crawler_dedup.errors import BeyondLimits
from crawler_dedup.owntext.text import make_own_text
from crawler_dedup.pagetext import OwnTextJob
from crawler_dedup.signing.signer import Signer
from crawler_dedup.worker.messages import MakeOwnText
from tests.support.data import DATA, documents, html_pages, saved
from tests.support.processes import seconds_of
from tests.support.signing import Log, check, open_workers, pids

_SCOPE = "benchmark"
_SIGNER = Signer(Config())
_FREQUENT, _LEAST_PAGES = 0.15, 4
_FIRST = 50
"""Pages of a crawl that are left out: the site is not known well before them."""
_CODE = re.compile(r"^([> ]*`{3,})\n.*?\n\1$", re.DOTALL | re.MULTILINE)
_COPIES = 5
_PAGES_OF_LINES = 50
_OUTPUT = Console(width=150)


def _own_text(body: bytes) -> str:
    return make_own_text(_SIGNER, body, OwnTextJob()).text


def _main_text(body: bytes) -> str:
    try:
        return _SIGNER.main_text(body)
    except BeyondLimits:
        return ""


def _precise(body: bytes) -> str:
    return trafilatura.extract(body, favor_precision=True) or ""


# Pages of sites of which nothing is known


def compare_on_kinds() -> None:
    """Print the quality of each extractor on the pages of many kinds."""
    extractors: dict[str, Callable[[bytes], str]] = {"own text": _own_text, **EXTRACTORS}
    extractors["trafilatura, precise"] = _precise
    scores: dict[str, dict[str, Score]] = {name: {} for name in extractors}
    pages = read_pages(KINDS_OF_PAGES)
    for page in pages:
        for name, extract in extractors.items():
            scores[name][page.id] = score(page, extract)
    report(pages, scores)
    for half in (0, 1):  # a threshold that was found on one half of the sites is good for the other half, too
        own = [scores["own text"][page.id] for page in pages if page.half == half]
        f1 = statistics.mean(page.words[2] for page in own if page.words)
        foreign = statistics.mean(is_there for page in own for is_there in page.foreign)
        _OUTPUT.print(
            f"own text, half {half} of the sites ({len(own)} pages): F1 {f1:.3f}, foreign snippets {foreign:.3f}"
        )


# Lines

# The line rules of C4 (Raffel et al. 2020, section 2.2) with the values of datatrove's C4QualityFilter.
_SENTENCE_ENDS = (".", "?", "!", '"', "'")
_POLICIES = ("terms of use", "privacy policy", "cookie policy", "uses cookies", "use of cookies", "use cookies")


def passes_line_rules(line: str) -> bool:
    """Return whether the line rules of C4 keep a line."""
    words, small = line.split(), line.lower()
    return (
        len(words) >= 3
        and max(map(len, words)) <= 1000
        and line.endswith(_SENTENCE_ENDS)
        and not line.endswith("...")
        and not any(phrase in small for phrase in ("javascript", *_POLICIES))
    )


def _visible_text(body: bytes) -> str:
    return str(extract_plain_text(body.decode(str(detect_encoding(body)), "replace"), list_bullets=False))


def _squeeze(text: str) -> str:
    return "".join(text.lower().split())


def _by_line_rules(text: str) -> str:
    return "\n".join(filter(passes_line_rules, text.splitlines()))


def compare_lines() -> None:
    """Print how many lines of 50 pages are removed although the reference text has them, and kept although it lacks them."""
    known = [(page.body, page.reference) for page in read_pages(KINDS_OF_PAGES) if page.reference]
    gold = [page for page in documents(DATA, "gold/gold.jsonl") if page["source"] != "wcxb"]
    for name, pages in (
        ("pages of seven kinds", known),
        ("news and older pages", [(saved(DATA / page["html"]), page["text"]) for page in gold if page["lang"] != "zh"]),
        ("Chinese pages", [(saved(DATA / page["html"]), page["text"]) for page in gold if page["lang"] == "zh"]),
    ):
        _compare_lines_of(name, pages[:: max(1, len(pages) // _PAGES_OF_LINES)][:_PAGES_OF_LINES])


def _compare_lines_of(name: str, pages: Sequence[tuple[bytes, str]]) -> None:
    methods: dict[str, Callable[[bytes], str]] = {
        "own text": _own_text,
        "line rules": lambda body: _by_line_rules(_visible_text(body)),
        "trafilatura, line rules": lambda body: _by_line_rules(trafilatura.extract(body) or ""),
    }
    lost, left, wanted = Counter[str](), Counter[str](), 0
    for body, reference in pages:
        all_wanted = _squeeze(reference)
        lines = {line: line in all_wanted for line in map(_squeeze, _visible_text(body).splitlines()) if line}
        wanted += sum(lines.values())
        for method, extract in methods.items():
            text = _squeeze(extract(body))
            kept = {line for line in lines if line in text}
            lost[method] += sum(is_wanted and line not in kept for line, is_wanted in lines.items())
            left[method] += sum(not lines[line] for line in kept)
    table = Table("", title=f"{len(pages)} {name}; the references have {wanted} of their lines", title_justify="left")
    for column in ("removed, in the reference", "kept, not in the reference"):
        table.add_column(column, justify="right")
    for method in methods:
        table.add_row(method, str(lost[method]), str(left[method]))
    _OUTPUT.print(table)


# Saved sites


def pages_of(site: str) -> list[tuple[str, bytes]]:
    """Return the pages of a saved site with their addresses, in the order in which a crawl from its first page goes."""
    origin = f"http://{site}.example/"
    bodies = {origin + name.partition("/")[2]: saved(DATA / "sites" / name) for name in sorted(html_pages(site))}
    start = f"{origin}index.html"
    order = dict.fromkeys([start] if start in bodies else list(bodies)[:1])
    waiting = deque(order)
    while waiting:
        address = waiting.popleft()
        for link in _links_of(address, bodies[address]):
            # Links to the host from which the site was saved have its paths, too.
            path = link.partition("#")[0].partition("?")[0].partition("//")[2].partition("/")[2]
            for target in (origin + path, f"{origin}{path.rstrip('/')}/index.html"):
                if target in bodies and target not in order:
                    order[target] = None
                    waiting.append(target)
    return [(address, bodies[address]) for address in {**order, **dict.fromkeys(bodies)}]


def _links_of(address: str, body: bytes) -> Iterator[str]:
    for link in html.fromstring(body).iter("a") if body.strip() else ():
        try:
            yield urljoin(address, link.get("href", ""))
        except ValueError:
            continue


def own_texts(pages: Sequence[tuple[str, bytes]]) -> tuple[list[str], list[str], list[str]]:
    """Return the own texts of the pages of a site as in a crawl, as in a batch, which knows all pages of the site, and the
    latter without preformatted text, whose lines are those of code.
    """
    with tempfile.TemporaryDirectory() as directory, Deduplicator.open(directory) as index:
        own = partial(index.own_text, scope=_SCOPE)
        in_crawl = []
        for address, body in pages:
            index.check(address, body, scope=_SCOPE)
            in_crawl.append(own(address, body).text)
        in_batch = [own(address, body).text for address, body in pages]
        return in_crawl, in_batch, [_CODE.sub("", own(*page, format="markdown").text) for page in pages]


def repeated_share(texts: Sequence[str], first: int = 0) -> float:
    """Return the share of the characters, from the page *first* on, in lines that many of *texts* have."""
    lines = [[line for line in (" ".join(line.split()) for line in text.splitlines()) if line] for text in texts]
    counts = Counter(line for page in lines for line in set(page))
    least = max(_LEAST_PAGES, _FREQUENT * len(texts))
    sizes = [(len(line), counts[line] >= least) for page in lines[first:] for line in page]
    return sum(size for size, is_repeated in sizes if is_repeated) / max(1, sum(size for size, _ in sizes))


def compare_on_sites() -> None:
    """Print how much of the texts of saved sites is repeated."""
    table = Table("site", title="% of characters in lines of 15 % of the site's pages or more", title_justify="left")
    for column in (
        "pages",
        "own, crawl after 50",
        "own, batch",
        "without code",
        "trafilatura, after 50",
        "trafilatura, all",
        "empty",
    ):
        table.add_column(column, justify="right")
    for site in sorted(folder.name for folder in (DATA / "sites").iterdir()):
        pages = pages_of(site)
        in_crawl, in_batch, without_code = own_texts(pages)
        peers = [trafilatura.extract(body) or "" for _, body in pages]
        shares = [
            repeated_share(in_crawl, _FIRST),
            repeated_share(in_batch),
            repeated_share(without_code),
            repeated_share(peers, _FIRST),
            repeated_share(peers),
        ]
        empty = sum(not own for own in in_batch), sum(not peer for peer in peers)
        table.add_row(site, str(len(pages)), *(f"{100 * share:.2f}" for share in shares), f"{empty[0]} · {empty[1]}")
    _OUTPUT.print(table)


# Reference texts


def compare_with_gold() -> None:
    """Print the share of the words of reference texts that the compared text has, and the own text lacks."""
    lost: Counter[str] = Counter()
    words: Counter[str] = Counter()
    for document in documents(DATA, "gold/gold.jsonl"):
        body = saved(DATA / document["html"])
        wanted, main, own = (
            Counter(split_words(text)) for text in (document["text"], _main_text(body), _own_text(body))
        )
        source = document["source"]
        lost[source] += ((wanted & main) - own).total()
        words[source] += (wanted & main).total()
    for source in words:
        _OUTPUT.print(
            f"{source}: {lost[source]} of {words[source]} words lost, {100 * lost[source] / words[source]:.2f} %"
        )
    _OUTPUT.print(f"all: {100 * lost.total() / words.total():.2f} %")


# Processor time


async def _measure(workers: Workers, pages: Iterable[tuple[str, bytes]], text_format: str) -> tuple[float, float]:
    """Check *pages*, and make own texts if a format is given. Return the seconds in the worker, and in this process."""
    (pid,) = pids(workers)
    before, own = seconds_of(pid), time.process_time()
    for url, body in pages:
        await workers.ask(*check(body, url, scope=_SCOPE))
        if text_format:
            job = OwnTextJob(format=text_format)  # type: ignore[arg-type]
            await workers.ask(MakeOwnText(url, _SCOPE, job), body)
    return seconds_of(pid) - before, time.process_time() - own


def measure_cost() -> None:
    """Print the processor time that own texts of pages of known sites add to checking the pages."""
    pages = [page for site in ("adrianmejia-2022", "debian-faq", "devtang-2018") for page in pages_of(site)]
    log, formats = Log(), ("", "text", "markdown")

    async def measure_all(runs: Mapping[str, Workers]) -> list[dict[str, tuple[float, float]]]:
        return [{name: await _measure(runs[name], pages, name) for name in formats} for _ in range(1 + _COPIES)]

    with ExitStack() as stack:
        runs = {}
        for name in formats:  # a worker notes what own texts are made of from the first one on
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory()), "index")
            with Deduplicator.open(directory) as index:
                for address, body in pages:
                    index.check(address, body, scope=_SCOPE)
            runs[name] = open_workers(directory, log, Config())
            stack.callback(runs[name].kill)
        rounds = asyncio.run(measure_all(runs))[1:]  # in the first one, processes and caches are new
    table = Table("", "ms in the worker", "ms on the event loop", title=f"{len(pages)} pages")
    for name in formats[1:]:
        differences = (
            sorted(1000 * (times[name][at] - times[""][at]) / len(pages) for times in rounds) for at in (0, 1)
        )
        table.add_row(name, *map(_range_of, differences))
    _OUTPUT.print(table)


def _range_of(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f} ({values[0]:.2f} to {values[-1]:.2f})"


PARTS = {
    "kinds": compare_on_kinds,
    "lines": compare_lines,
    "sites": compare_on_sites,
    "gold": compare_with_gold,
    "cost": measure_cost,
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS))
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)
    logging.getLogger("readability").setLevel(logging.CRITICAL)
    for part in parser.parse_args().parts:
        PARTS[part]()


if __name__ == "__main__":
    main()
