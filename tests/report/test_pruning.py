"""The parts of a site without duplicates that the report names, compared with a plain count."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from urllib.parse import urlsplit

import lxml.html
import pytest
from lxml.html import HtmlElement

from crawler_dedup import Config, Deduplicator, SignedPage
from crawler_dedup.index.lmdb.store import Store
from crawler_dedup.index.maintenance import open_pages
from crawler_dedup.index.records import Record
from crawler_dedup.journal.entry import VERSION, Entry
from crawler_dedup.journal.reader import Journals
from crawler_dedup.journal.writer import JournalWriter
from crawler_dedup.report import ReportData, collect, render
from crawler_dedup.report.pruning import LEAST_PAGES, PartHistory, depth_of, directory_of, kind_of
from crawler_dedup.signedpage import PageKind
from tests.support.indexing import FILING

CONFIG = Config(tokenizer="bigrams")
BEGAN = datetime(2026, 11, 21, 18, tzinfo=timezone.utc)
RUN = 0xABC


def record(number: int, url: str, *, second: int = 0, kind: PageKind = PageKind.TEXT, chars: int = 3_000) -> Record:
    filed = int(BEGAN.timestamp()) + second
    page = SignedPage(url, url, "site", signature=number * 0x9E3779B97F4A7C15 % 2**64, kind=kind, chars=chars)
    return Record(page, run=RUN, filed=filed, seen=filed, settled=filed)


def duplicate(url: str, kept: str, second: int = 0) -> Entry:
    time = (BEGAN + timedelta(seconds=second)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return Entry(VERSION, time, f"{RUN:08x}", "drop", "news", "site", url, kept, "alike", 3, 0.9, 0.95)


def report_on(directory: Path, records: list[Record], entries: list[Entry], run: str = "") -> ReportData:
    with Deduplicator.open(directory, CONFIG):
        pass
    store = Store.attach(directory)
    store.merge(records, FILING)
    store.close()
    journal = JournalWriter(directory / "journal-1.jsonl", 1 << 30)
    for entry in entries:
        journal.write(entry)
    journal.close()
    with closing(open_pages(directory)) as pages:
        return collect(pages, Journals.beside(directory, CONFIG.journal), run)


def host(url: str) -> str:
    return urlsplit(url).netloc


def test_a_host_is_named_if_none_of_its_pages_was_a_duplicate_or_representative(tmp_path: Path) -> None:
    hosts = ["alone.org", "original.org", "few.org"]
    sizes = {"alone.org": 40, "original.org": 40, "few.org": LEAST_PAGES - 1}
    records = [
        record(number * 3 + at, f"http://{name}/{number}")
        for at, name in enumerate(hosts)
        for number in range(sizes[name])
    ]
    report = report_on(tmp_path, records, [duplicate("http://mirror.org/0", "http://original.org/0")])
    parts = {host_parts.name: host_parts for host_parts in report.without_duplicates}
    assert parts.keys() == {"Hosts", "Directories", "Depths of addresses", "Kinds of pages"}
    assert parts["Hosts"].largest == [("alone.org", 40)]
    assert (parts["Hosts"].part_count, parts["Hosts"].pages) == (1, 40)
    assert parts["Depths of addresses"].largest == []  # one depth, which has a duplicate


def test_the_parts_and_what_leaving_them_out_would_have_missed_equal_a_plain_count(tmp_path: Path) -> None:
    source = random.Random(8)
    hosts = [f"h{number}.org" for number in range(12)]
    records = [
        record(number, f"http://{source.choice(hosts)}/{number}", second=source.randrange(10_000))
        for number in range(900)
    ]
    times = sorted(source.sample(range(10_000), 60))
    # The last four hosts have no duplicates; three others have duplicates in the second half only.
    entries = []
    for at, second in enumerate(times):
        among = hosts[:5] if at < 30 else hosts[:8]
        kept = source.choice([record for record in records if host(record.page.url) in among]).page.url
        entries.append(duplicate(f"http://{source.choice(among)}/copy-{at}", kept, second))
    findings = report_on(tmp_path, records, entries).without_duplicates[0]

    having = {host(url) for entry in entries for url in (entry.url, entry.duplicate_of)}
    sizes = Counter(host(record.page.url) for record in records)
    never = {name: count for name, count in sizes.items() if name not in having and count >= LEAST_PAGES}
    assert dict(findings.largest) == never
    assert len(never) >= 4
    assert findings.pages == sum(never.values())

    trial = findings.trial
    late = [entry for entry in entries if entry.seconds >= trial.moment]
    assert 25 <= len(late) <= 35  # half of them, as exactly as periods of time are counted
    early = {host(url) for entry in entries if entry not in late for url in (entry.url, entry.duplicate_of)}
    filed_early = Counter(host(record.page.url) for record in records if record.filed < trial.moment)
    left_out = {name for name in hosts if name not in early and filed_early[name] >= LEAST_PAGES}
    assert trial.part_count == len(left_out) > len(never)
    filed_late = [record for record in records if record.filed >= trial.moment]
    assert (trial.not_filed, trial.filed) == (
        sum(host(record.page.url) in left_out for record in filed_late),
        len(filed_late),
    )
    missed = sum(bool({host(entry.url), host(entry.duplicate_of)} & left_out) for entry in late)
    assert (trial.missed, trial.duplicates) == (missed, len(late))
    assert trial.missed > 0


def test_kinds_are_those_of_kept_pages(tmp_path: Path) -> None:
    thin = [record(number, f"http://a.org/{number}", kind=PageKind.THIN, chars=0) for number in range(50)]
    long = [record(100 + number, f"http://a.org/long/{number}", chars=9_000) for number in range(60)]
    report = report_on(tmp_path, [*thin, *long], [duplicate("http://b.org/1", "http://a.org/7", 5)])
    parts = {host_parts.name: host_parts for host_parts in report.without_duplicates}
    assert parts["Kinds of pages"].largest == [("texts of more than 5,000 letters", 60)]
    assert parts["Depths of addresses"].largest == [("depth 2", 60)]
    assert parts["Directories"].largest == [("a.org/long/", 60)]


@pytest.mark.parametrize(
    ("url", "depth"),
    [
        ("http://a.org", "depth 0"),
        ("http://a.org/", "depth 0"),
        ("http://a.org/a/b/", "depth 2"),
        ("http://a.org/a//b?x=1", "depth 2, with a query"),
        ("http://a.org/" + "a/" * 500, "depth 12 and more"),
        ("http://[a/", "addresses that cannot be read"),
    ],
)
def test_the_depth_of_an_address_is_recognised(url: str, depth: str) -> None:
    assert depth_of(url) == depth


@pytest.mark.parametrize(
    ("url", "directory"),
    [
        ("http://www.a.org", "a.org/"),
        ("http://a.org/page?x=/y/", "a.org/"),
        ("http://a.org/blog/", "a.org/blog/"),
        ("http://a.org//blog/2010/1", "a.org/blog/"),
        ("http://[a/", ""),
    ],
)
def test_the_directory_of_an_address_is_recognised(url: str, directory: str) -> None:
    assert directory_of(url) == directory


def test_the_kind_of_a_page_depends_on_its_links_and_the_length_of_its_text() -> None:
    page = SignedPage("k", "http://a.org/", "", chars=800, link_chars=10)
    assert kind_of(page) == "texts of less than 1,000 letters"
    assert kind_of(record(1, "http://a.org/", chars=4_000).page) == "texts of 1,000 to 5,000 letters"
    assert kind_of(SignedPage("k", "http://a.org/", "", chars=800, link_chars=1_600)) == "lists with a text"
    assert kind_of(record(1, "http://a.org/", kind=PageKind.THIN).page) == "thin pages"


def test_nothing_is_suggested_without_duplicates_or_for_one_run(tmp_path: Path) -> None:
    records = [record(number, f"http://a.org/{number}") for number in range(40)]
    entries = [duplicate("http://b.org/1", "http://c.org/1")]
    assert report_on(tmp_path / "none", records, []).without_duplicates == []
    assert report_on(tmp_path / "run", records, entries, run=f"{RUN:08x}").without_duplicates == []


def test_parts_whose_counts_were_forgotten_are_not_suggested() -> None:
    history = PartHistory("Hosts")
    for number in range(100_001):
        history.add_duplicates(f"{number}", f"{number}", 1.0)
    for _ in range(LEAST_PAGES):
        history.add_kept("100001", is_late=False)
    assert history.find_parts(2.0, 0) is None


def test_the_page_shows_what_could_be_left_out_and_what_that_would_have_missed(tmp_path: Path) -> None:
    records = [
        record(number, f"http://{name}/{number}", second=number)
        for number, name in enumerate(["alone.org", "late.org", "copied.org"] * 60)
    ]
    entries = [
        duplicate(f"http://copied.org/copy-{second}", "http://copied.org/2", second) for second in range(100, 104)
    ]
    entries += [duplicate(f"http://late.org/copy-{second}", "http://late.org/1", second) for second in range(150, 153)]
    parsed: HtmlElement = lxml.html.document_fromstring(render(report_on(tmp_path, records, entries), CONFIG, BEGAN))
    sections = [" ".join(" ".join(section.itertext()).split()) for section in parsed.iter("section")]
    (text,) = (section for section in sections if section.startswith("What could be left out of the index"))
    assert "alone.org 60 33.3% 5.0%" in text
    assert "Without it the index would hold 60 of 180 pages less" in text
    assert "had the 2 parts been left out" in text
    assert "up to 3 of 4 duplicates would have been stored" in text
