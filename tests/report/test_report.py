"""Reports of crawls have the figures of a plain count, and whatever pages say is shown as text."""

import os
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import astuple
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import lxml.html
import pytest
from click.testing import Result
from lxml.html import HtmlElement
from msgspec.structs import replace

from crawler_dedup import Config, Deduplicator, SignedPage
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.index.opening import open_index
from crawler_dedup.index.records import Record
from crawler_dedup.inspection.journals import Journals
from crawler_dedup.inspection.journaltable import JournalTable
from crawler_dedup.journal.entry import VERSION, Entry, Event, run_started
from crawler_dedup.report.collector import collect
from crawler_dedup.report.data import PageCounts, ReportData
from crawler_dedup.report.rendering import plain, render
from crawler_dedup.signedpage import PageKind
from crawler_dedup.system.callbacks import ignore_progress
from tests.support.commandline import invoke, printed_text, write
from tests.support.indexing import FILING, clusters

CONFIG = Config(tokenizer="bigrams")
BEGAN = datetime(2026, 11, 21, 18, tzinfo=UTC)
RUN, OTHER_RUN = 0xABC, 0xDEF
JOURNAL = "journal-1.jsonl"


def make_index(
    directory: Path, records: Iterable[Record] = (), entries: Iterable[Entry] | None = None, config: Config = CONFIG
) -> Path:
    """Return an index of *records*, with a journal of *entries* beside it unless they are ``None``."""
    with Deduplicator.open(directory, config):
        pass
    store = DirectoryIndex.attach(directory)
    store.merge(list(records), FILING)
    store.close()
    if entries is not None:
        (directory / JOURNAL).touch()
        write(directory / JOURNAL, entries)
    return directory


def record(number: int, signature: int, *, url: str = "", run: int = RUN, **page: Any) -> Record:
    url = url or f"http://a.org/{number}"
    filed = int(BEGAN.timestamp()) + number
    signed = replace(SignedPage(url, url, "site", signature=signature), **page)
    return Record(signed, run=run, filed=filed, seen=filed, settled=filed)


def entry(number: int = 0, event: Event = "drop", **fields: Any) -> Entry:
    time = (BEGAN + timedelta(seconds=number)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    made_entry = Entry(
        VERSION, time, f"{RUN:08x}", event, "news", "site", f"http://b.org/{number}", bytes=1000, links=10
    )
    if event in ("drop", "mark"):
        duplicate = {"duplicate_of": "http://a.org/0", "distance": 3}
        fields = {"rule": "alike", **duplicate, **fields}
    return replace(made_entry, **fields)


def gathered(directory: Path, run: str = "") -> ReportData:
    journals = Journals.beside(directory, CONFIG.journal)
    with closing(open_index(directory)) as pages, closing(JournalTable()) as table:
        table.read(pages, journals, lambda *_: ignore_progress)
        return collect(pages, journals, table, run)


def page_of(directory: Path) -> str:
    return render(gathered(directory), CONFIG.max_distance, BEGAN)


def parsed(content: str | Path) -> HtmlElement:
    return lxml.html.document_fromstring(content if isinstance(content, str) else content.read_text(encoding="utf-8"))


def text_of(element: HtmlElement) -> str:
    words = " ".join(str(text) for text in element.xpath(".//text()[not(ancestor::style)]")).split()
    return re.sub(r" ([.,;:)])", r"\1", " ".join(words))


def texts(root: HtmlElement, path: str) -> list[str]:
    return [text_of(element) for element in root.xpath(path)]


def cli(*arguments: object, status: int = 0) -> Result:
    return invoke("report", *arguments, status=status)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an index with a journal that has something for every section."""
    records = [record(number, signature, title=f"Page {number}") for number, signature in enumerate(clusters(1, 300))]
    entries = [entry(number, "drop", distance=number % 8) for number in range(40)]
    entries += [entry(50, "unchecked", reason="too little text"), entry(51, "unchanged")]
    entries += [entry(52, "watchdog", duplicate_of="http://a.org/0"), entry(53, "mark", distance=9)]
    return make_index(tmp_path_factory.mktemp("full") / "index", records, entries)


@pytest.fixture(scope="module")
def full_page(full: Path) -> str:
    return page_of(full)


# Figures


def add_up(counts: Iterable[PageCounts]) -> PageCounts:
    return PageCounts(*map(sum, zip(*map(astuple, counts), strict=True)))


def test_figures_equal_those_of_a_plain_count(tmp_path: Path) -> None:
    source = random.Random(5)
    hosts = [f"h{number}.org" for number in range(40)]
    records = [
        record(
            number,
            signature,
            url=f"http://{source.choice(hosts)}/{number}",
            run=source.choice([RUN, OTHER_RUN]),
            kind=source.choice([PageKind.TEXT, PageKind.TEXT, PageKind.THIN]),
            scope=source.choice(["one", "two"]),
        )
        for number, signature in enumerate(clusters(3, 500))
    ]
    events: list[Event] = ["drop", "drop", "mark", "unchanged", "unchanged_dropped", "unchecked"]
    entries = [
        entry(
            source.randrange(5000),
            source.choice(events),
            url=f"http://{source.choice(hosts)}/{source.randrange(2)}",
            duplicate_of=(kept_page := source.choice(records[:90]).page).url,
            scope=kept_page.scope,
            rule=source.choice(["alike", "same bytes", "same thin page"]),
            reason=source.choice(["error", "too little text"]),
            run=f"{source.choice([RUN, OTHER_RUN]):08x}",
            distance=source.choice([None, *range(8)]),
            bytes=source.randrange(9000),
            links=source.randrange(90),
        )
        for _ in range(2000)
    ]
    directory = make_index(tmp_path / "index", records, entries)
    for run in ("", f"{RUN:08x}"):
        report = gathered(directory, run)
        noted = [entry for entry in entries if run in ("", entry.run)]
        kept = [record for record in records if run in ("", f"{record.run:08x}")]
        duplicates = [entry for entry in noted if entry.event in ("drop", "mark")]
        events_of = Counter(entry.event.removesuffix("_dropped") for entry in noted)
        assert report.total == PageCounts(
            len(kept), *(events_of[event] for event in ("drop", "mark", "unchanged", "unchecked"))
        )
        assert report.dropped.bytes == sum(
            entry.bytes for entry in noted if entry.event in ("drop", "unchanged_dropped")
        )
        assert report.marked.links == sum(entry.links for entry in noted if entry.event == "mark")
        assert report.distances == Counter(
            duplicate.distance for duplicate in duplicates if duplicate.distance is not None
        )
        assert dict(report.rules) == Counter(duplicate.rule for duplicate in duplicates)
        assert dict(report.reasons) == Counter(entry.reason for entry in noted if entry.event == "unchecked")
        by_host = Counter(urlsplit(entry.url).netloc for entry in noted)
        by_host.update(urlsplit(record.page.url).netloc for record in kept)
        assert [pages.all_pages for _, pages in report.hosts] == [number for _, number in by_host.most_common(25)]
        assert all(pages.all_pages == by_host[host] for host, pages in report.hosts)
        assert report.host_count == 40
        assert add_up([*(pages for _, pages in report.hosts), report.other_hosts]) == report.total
        sizes = Counter(duplicate.duplicate_of for duplicate in duplicates)
        assert [group.size for _, group in report.groups] == [number for _, number in sizes.most_common(20)]
        assert (report.group_count, report.several_count) == (len(sizes), sum(size > 1 for size in sizes.values()))
        for url, group in report.groups:
            examples = dict.fromkeys(duplicate.url for duplicate in duplicates if duplicate.duplicate_of == url)
            assert (group.examples, group.is_kept) == ([*examples][:3], True)
        between: dict[tuple[str, str], list[str]] = defaultdict(list)
        for duplicate in duplicates:
            between[urlsplit(duplicate.url).netloc, urlsplit(duplicate.duplicate_of).netloc].append(duplicate.url)
        assert report.host_pairs
        for of_host in (of_host for pair in report.host_pairs for of_host in pair):
            urls = between[of_host.host, of_host.kept_host]
            assert (of_host.number, of_host.example) == (len(urls), urls[0])
            assert of_host.share == len(urls) / by_host[of_host.host]
        assert {number for number, _ in report.runs} == ({run} if run else {f"{RUN:08x}", f"{OTHER_RUN:08x}"})
        assert add_up(of_run.pages for _, of_run in report.runs) == report.total


# The page


def test_a_page_has_every_section_with_its_figures(full_page: str) -> None:
    root = parsed(full_page)
    tiles = {text_of(tile.find("dt")): text_of(tile.find("dd")) for tile in root.xpath("//dl[@class='tiles']/div")}
    counted = {"Checked": "343", "Kept": "300", "Duplicates": "41", "Unchanged": "1", "Unchecked": "1"}
    assert tiles.items() >= {**counted, "Not stored": "40.0 kB", "Not followed": "400"}.items()
    assert texts(root, "//figure/figcaption") == CHARTS
    whole = text_of(root)
    for sentence in (
        "Of the duplicates 40 were dropped. 1 passed",
        "1 kept page has duplicates.",
        "1 case.",
        "too little text 1",
        "alike 41",
        "b.org a.org 41 95.3%",
        "44 entries in 1 file.",
        "simhash bits=64",
        "00000abc news",
    ):
        assert sentence in whole
    assert texts(root, "//ol[@class='groups']//*[@class='big']") == ["41"]
    assert text_of(root.xpath("//*[@class='title']")[0]) == "Page 0"


def test_a_page_loads_nothing_else(full_page: str) -> None:
    assert_harmless(full_page)
    policy = parsed(full_page).xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")


def assert_harmless(content: str) -> None:
    """Check that a page loads nothing, runs nothing and has nothing but links to the web."""
    root = parsed(content)
    elements = ("script", "link", "img", "iframe", "object", "embed", "base", "form", "image", "b", "u")
    assert not root.xpath(" | ".join(f"//{element}" for element in elements))
    assert not root.xpath(
        "//main//title | //main//style | //@*[starts-with(name(), 'on')] | //@src | //@data | //@srcset"
    )
    assert {str(href).split(":")[0] for href in root.xpath("//a/@href")} <= {"http"}
    assert {str(rel) for rel in root.xpath("//a/@rel")} == {"noreferrer noopener nofollow"}
    assert all(
        str(href).startswith("#") for href in root.xpath("//@*[name() = 'xlink:href'] | //*[not(self::a)]/@href")
    )
    styles = "".join(map(str, root.xpath("//@style | //style/text()")))
    assert set(re.findall(r"url\((.)", styles)) <= {"#"}
    assert "@import" not in styles


def test_the_chart_of_distances_has_a_row_for_each_and_a_line_at_the_limit(full: Path, full_page: str) -> None:
    (distances,) = parsed(full_page).xpath("//figure/table")
    counts = gathered(full).distances
    rows = [text_of(row) for row in distances]
    assert rows == [*(f"{bits} bits {counts[bits]}" for bits in range(8)), "more than 7", "8 bits 0", "9 bits 1"]


def test_colours_can_be_distinguished(full_page: str) -> None:
    for ground, scheme in product(["--card", "--back"], [0, 1]):
        blocks = re.findall(r":root \{(.*?)\}", full_page, flags=re.DOTALL)
        colours = dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{3,6});", blocks[scheme]))
        for name in ("--text", "--soft", "--link"):
            assert _contrast(colours[name], colours[ground]) >= 4.5, name
        for name in ("--kept", "--duplicates", "--limit"):  # WCAG 2.2, 1.4.11
            assert _contrast(colours[name], colours[ground]) >= 3, name


def _contrast(first: str, second: str) -> float:
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(part * weight for part, weight in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))


# What is hostile

HOSTILE = [
    "javascript:alert(1)",
    "java\nscript:alert(1)",
    " javascript:alert(1)",
    "JaVaScRiPt://a.org/%0aalert(1)",
    "data:text/html,<script>alert(1)</script>",
    'http://a.org/"onmouseover="alert(1)',
    "http://a.org/<script>alert(1)</script>",
    "http://a.org/\u202egpj.exe",
    "http://a.org/\x00\x1b]0;title\x07",
    "http://a.org/{{ 7 * 7 }}{% raw %}",
    "http://a.org/' style='background:url(http://evil.example/)",
    "http://[::1/broken",
    "http:///no-host",
    "http://a.org/" + "long" * 10_000,
    "http://$a_{b}^{c}$.org/&amp;<b>",
]


def test_hostile_addresses_and_titles_are_shown_as_text(tmp_path: Path) -> None:
    directory = tmp_path / "index"
    titles = [
        "</title><script>alert(1)</script>",
        "\u202eright to left\u2066",
        "<img src=x onerror=alert(1)>",
        "\x1b[31m",
    ]
    records = [
        record(number, signature, url=url, title=titles[number % 4])
        for number, (url, signature) in enumerate(zip(HOSTILE, clusters(1, 99), strict=False))
    ]
    entries = [
        entry(number, "drop", url=f"{url}#{number}", duplicate_of=url, rule="<script>", scope="site", spider="<b>")
        for number in range(3)
        for url in HOSTILE
    ]
    entries += [entry(0, "watchdog", duplicate_of=url, url=url, time="<i>", run="<u>") for url in HOSTILE]
    entries += [entry(0, "unchecked", url=url, reason="</style><script>alert(1)</script>") for url in HOSTILE]
    make_index(directory, records, [])
    write(directory / "journal-<script>.jsonl", entries)
    (directory / "journal-<b>.jsonl").write_text("half\n")
    content = page_of(directory)
    root = parsed(content)
    assert_harmless(content)
    assert all(character.isprintable() or character == "\n" for character in content)
    assert len(content) < 500_000
    assert "{{ 7 * 7 }}" in content
    assert "javascript:alert(1)" in text_of(root)


def test_text_of_pages_is_shown_without_control_characters() -> None:
    for text, shown in [
        (" a \n b\u00a0c ", "a b c"),
        ("\u202eabc\u2066", "\ufffdabc\ufffd"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("\x1b[31m\ud800", "\ufffd[31m\ufffd"),
        ("x" * 200, "x" * 159 + "…"),
    ]:
        assert plain(text) == shown


# What is missing

CHARTS = ["Distance of a duplicate from its kept page"]
NO_JOURNAL = "There is no journal beside this index, so only what the index holds is shown"
KEPT = [record(1, 1)]


@pytest.mark.parametrize(
    ("kept", "entries", "charts", "sentences"),
    [
        ([], None, [], ["The index holds no page.", NO_JOURNAL]),
        (KEPT, None, [], [NO_JOURNAL]),
        (KEPT, [], [], ["The journal has no entry"]),
        (KEPT, [entry(1, "unchecked")], [], ["The journal has no duplicates."]),
        ([], [entry(distance=None)], [], []),
        ([], [entry(url="http://a.org/1")], CHARTS, ["No duplicate has its kept page on another host."]),
        (
            [],
            [entry()],
            CHARTS,
            [
                "None: no kept page has suspiciously many duplicates.",
                "None: all pages could be judged.",
                "1 kept page has duplicates, none of them more than one.",
            ],
        ),
        (
            KEPT,
            [entry(number, "mark") for number in range(3)],
            CHARTS,
            ["A dry run: no duplicate was dropped. The 3 pages", "3.0 kB of HTML, once duplicates are dropped"],
        ),
    ],
)
def test_a_section_without_data_says_so_and_draws_nothing(
    tmp_path: Path, kept: Sequence[Record], entries: Sequence[Entry] | None, charts: list[str], sentences: list[str]
) -> None:
    root = parsed(page_of(make_index(tmp_path / "index", kept, entries)))
    assert texts(root, "//figure/figcaption") == charts
    assert [sentence for sentence in sentences if sentence not in text_of(root)] == []
    assert ("Duplicates" in texts(root, "//dt")) == bool(entries)
    assert ("A dry run" in text_of(root)) == any(each.event == "mark" for each in entries or ())
    assert ("Hosts with duplicates of pages of another host" in text_of(root)) == bool(entries)


def test_lines_that_cannot_be_read_are_reported(tmp_path: Path) -> None:
    directory = make_index(tmp_path / "index", [], [entry(number) for number in range(44)])
    with (directory / JOURNAL).open("ab") as file:
        file.write(b'{"version":1,"time":"20\n[]\n')
    whole = text_of(parsed(page_of(directory)))
    assert "could not be read, and are missing here: 2 in journal-1.jsonl." in whole
    assert "44 entries in 1 file." in whole


def test_odd_figures_of_a_journal_raise_no_error(tmp_path: Path) -> None:
    odd_figures: list[dict[str, Any]] = [
        {"distance": 99},
        {"distance": -1},
        {"bytes": 1 << 70},
        {"time": "9999-12-31T23:59:59Z"},
        {"duplicate_of": "", "url": ""},
    ]
    for number, odd in enumerate(odd_figures):
        entries = [entry(1, **odd), entry(2)]
        assert "</html>" in page_of(make_index(tmp_path / str(number), [replace(record(1, 1), filed=1 << 60)], entries))


def test_the_command_writes_the_page_of_a_run_with_the_limits_of_the_settings(
    full: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert printed_text(cli(full)).startswith("report.html: ")
    assert len(parsed(tmp_path / "report.html").xpath("//figure")) == 1
    cli(full, "-o", "other.html", "--run", f"{RUN:08X}", "-s", "DEDUP_MAX_DISTANCE=3")
    root = parsed(tmp_path / "other.html")
    assert "Run 00000abc on the index" in text_of(root)
    assert "more than 3" in texts(root, "//figure//tr[@class='limit']")
    assert "DEDUP_MAX_DISTANCE 3" in text_of(root)


@pytest.fixture
def several(tmp_path: Path) -> Path:
    """Return an index with a journal of three runs: two that overlap, and one that the journal names only."""
    records = [record(number, number) for number in range(4)]
    of_other_run = [entry(number, run=f"{OTHER_RUN:08x}") for number in (8, 9)]
    idle = replace(run_started(0xF, "news"), time="2026-11-22T09:12:00.000Z")
    kept = [*records, record(9, 9, run=OTHER_RUN)]
    return make_index(tmp_path / "index", kept, [entry(5), *of_other_run, entry(60), idle])


def test_a_report_names_the_runs_that_it_adds_up(several: Path, tmp_path: Path) -> None:
    covered = "3 runs, 2026-11-21 18:00 to 2026-11-22 09:12 UTC"
    assert f"{covered}; --last shows the latest run only." in printed_text(cli(several, "-o", tmp_path / "report.html"))
    root = parsed(tmp_path / "report.html")
    assert f"{several}: {covered}. Made by" in text_of(root)
    assert "All other figures on this page count 3 runs together" in text_of(root)
    counts = texts(root, "//ul[@class='runs']/li/span[@class='more'][last()]")
    listed = zip(texts(root, "//ul[@class='runs']/li"), counts, strict=True)
    assert [(item[:8], *count.split(" · ")[:2]) for item, count in listed] == [
        ("0000000f", "kept 0", "duplicates 0"),
        (f"{OTHER_RUN:08x}", "kept 1", "duplicates 2"),
        (f"{RUN:08x}", "kept 4", "duplicates 2"),
    ]


def test_the_report_of_the_latest_run_covers_no_other_run(several: Path, tmp_path: Path) -> None:
    cli(several, "--last", "-o", tmp_path / "report.html")
    text = text_of(parsed(tmp_path / "report.html"))
    assert "Run 0000000f on the index" in text
    assert f"{OTHER_RUN:08x}" not in text
    assert "runs together" not in text
    assert "cannot be combined" in printed_text(cli(several, "--last", "--run", "f", status=2))


@pytest.mark.parametrize(("others", "run"), [([], ""), ([run_started(OTHER_RUN, "news")], f"{RUN:08x}")])
def test_a_dry_run_that_has_marked_nothing_is_reported_as_a_dry_run(
    tmp_path: Path, others: list[Entry], run: str
) -> None:
    directory = make_index(tmp_path / "index", [record(1, 1)], [run_started(RUN, "news", is_dry=True), *others])
    root = parsed(render(gathered(directory, run), CONFIG.max_distance, BEGAN))
    assert "A dry run: no duplicate was dropped. No page was marked as a duplicate" in text_of(root)
    assert texts(root, "//*[@class='duplicates']") == ["Duplicates 0 0% of the checked, would be dropped"]
    assert "links, once duplicates are dropped" in text_of(root)
    assert "why a page was dropped" not in text_of(root)


def test_a_report_can_be_written_into_a_pipe(several: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor() as readers:
        content = readers.submit((tmp_path / "pipe").read_text, "utf-8")
        cli(several, "-o", tmp_path / "pipe")
        assert content.result().startswith("<!doctype html>")


def test_a_report_that_cannot_be_written_leaves_the_old_one(several: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    report.write_text("old")
    report.with_name("report.html.part").mkdir()
    cli(several, "-o", report, status=2)
    assert report.read_text() == "old"


def test_a_call_that_cannot_be_answered_is_refused_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    calls: list[tuple[Callable[[Path], object], list[str], str]] = [
        (make_index, ["--run", "0000000a"], "There is no run 0000000a"),
        (make_index, ["--run", "news"], "'news' is not the number of a run"),
        (make_index, ["--journal", "none.jsonl"], "none.jsonl cannot be read"),
        (make_index, ["-o", "no/such/folder.html"], "No such file or directory"),
        (lambda _: None, [], "no index"),
        (
            lambda directory: make_index(directory, [], [entry(version=VERSION + 1)]),
            [],
            "a later version of crawler-dedup",
        ),
    ]
    for number, (make, arguments, sentence) in enumerate(calls):
        (tmp_path / str(number)).mkdir()
        make(tmp_path / str(number))
        assert sentence in printed_text(cli(tmp_path / str(number), *arguments, status=2))
        assert not (tmp_path / "report.html").exists()


def test_the_report_of_many_runs_and_hosts_has_a_bounded_number_of_rows(tmp_path: Path) -> None:
    urls = [f"http://www.a-host-with-a-long-name-{number}.org/{'long' * 40}" for number in range(1_000)]
    drops = [entry(at, "drop", url=url, duplicate_of=f"{url}/kept", run=f"{at:08x}") for at, url in enumerate(urls)]
    report = gathered(make_index(tmp_path / "index", [], drops))
    assert (report.entries, report.host_count, report.run_count) == (1_000, 1_000, 1_000)
    assert (len(report.runs), len(report.hosts)) == (20, 25)
    assert len(render(report, CONFIG.max_distance, BEGAN).encode()) < 200_000
