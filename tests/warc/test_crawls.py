"""Crawls with ``DEDUP_DROPPED_WARC``: what they drop is in WARC files."""

import gzip
import json
from pathlib import Path

from warcio.archiveiterator import ArchiveIterator as WarcioIterator

from crawler_dedup import Config
from crawler_dedup.cli.project import Target
from crawler_dedup.crawl.configuration import find_journal_directory, find_warc_directory
from crawler_dedup.index.location import find_location
from crawler_dedup.inspection.journals import Journals
from tests.support.crawling import WALK, Answer, Site, article, crawl_pages, html, run_script, start_script
from tests.support.processes import run

ON = {"DEDUP_DROPPED_WARC": "10 MB", "COOKIES_ENABLED": True}
PAGES = {
    "/kept": html(article("one")),
    "/dropped": html(
        article("one", frame="other"),
        Set_Cookie="session=S3cret",
        X_Auth_Token="S3cret",
        X_JWT="S3cret",
        X_Plain="http://user:S3cret@a.example/shown",
    ),
    "/packed": Answer(
        gzip.compress(article("one", frame="第三").encode("gb18030")),
        headers=(("Content-Type", "text/html; charset=gb18030"), ("Content-Encoding", "gzip")),
    ),
    "/other": html(article("two")),
}


def records(directory: Path) -> list[tuple[str, dict[str, str], dict[str, str], bytes]]:
    """Read all records with warcio: type, WARC headers, HTTP headers, content."""
    read = []
    for path in sorted(directory.glob("dropped-*.warc.gz")):
        with path.open("rb") as file:
            for record in WarcioIterator(file, check_digests="raise"):
                http = dict(record.http_headers.headers) if record.http_headers else {}
                read.append((record.rec_type, dict(record.rec_headers.headers), http, record.content_stream().read()))
    return read


def test_each_dropped_response_is_in_a_file_that_any_tool_reads_without_its_secrets(tmp_path: Path) -> None:
    crawl = crawl_pages(tmp_path, PAGES, settings=ON)
    assert crawl.counts()["dropped"] == 2
    info, first, first_fields, second, second_fields = records(tmp_path / "index")
    assert info[0] == "warcinfo"
    assert [first[0], second[0]] == ["response", "response"]
    assert first[3].decode() == article("one", frame="other")
    assert second[3].decode("gb18030") == article("one", frame="第三")
    assert second[2]["Content-Type"] == "text/html; charset=gb18030"
    assert "Content-Encoding" not in second[2]
    for response, metadata in ((first, first_fields), (second, second_fields)):
        assert metadata[0] == "metadata"
        assert metadata[1]["WARC-Concurrent-To"] == response[1]["WARC-Record-ID"]
        assert metadata[1]["WARC-Target-URI"] == response[1]["WARC-Target-URI"]
    drop = crawl.drops[0]
    fields = json.loads(first_fields[3])
    assert (
        fields.items()
        >= {
            "duplicate_of": drop["duplicate_of"],
            "rule": drop["match"]["rule"],
            "scope": drop["scope"],
            "spider": "walker",
            "key": drop["key"],
            "method": "GET",
            "charset": "utf-8",
        }.items()
    )
    assert f"run {fields['run']}" in crawl.log
    assert first[2]["X-Plain"] == "http://a.example/shown"
    assert "S3cret" not in str(first[2])


def test_without_the_setting_no_file_is_written(tmp_path: Path) -> None:
    crawl = crawl_pages(tmp_path, PAGES)
    assert crawl.counts()["dropped"] == 2
    assert "WARC" not in crawl.log
    assert records(tmp_path / "index") == []


def test_pages_whose_links_are_followed_are_stored_and_marked_or_unchanged_pages_are_not(tmp_path: Path) -> None:
    with Site(PAGES) as site:
        for action in ("mark", "follow", "drop"):
            settings = {**ON, "DEDUP_ACTION": action, "DEDUP_REVISIT": "drop"}
            for _ in range(2):
                crawl = run_script(tmp_path / action, WALK, settings, site=site.url, paths=["/kept", "/dropped"])
        assert crawl.counts()["unchanged_dropped"] == 1
    dropped = [f"{site.url}/dropped"] * 2
    stored = {
        action: [
            record[1]["WARC-Target-URI"] for record in records(tmp_path / action / "index") if record[0] == "response"
        ]
        for action in ("mark", "follow", "drop")
    }
    assert stored == {"mark": [], "follow": dropped, "drop": dropped}


def test_a_kill_leaves_files_that_can_be_read_and_the_next_crawl_adds_others(tmp_path: Path) -> None:
    pages = {"/kept": html(article("one"))}
    pages |= {f"/{number}": html(article("one", frame=str(number))) for number in range(30)}
    with Site(pages) as site:

        def kill() -> Answer:
            running.kill()
            return html(article("two"))

        site.pages["/kill"] = kill
        running = start_script(tmp_path, WALK, ON, site=site.url, paths=[*pages, "/kill"])
        running.log()
        before = records(tmp_path / "index")
        run_script(tmp_path, WALK, ON, site=site.url, paths=["/kept", "/1"])
    responses = [record for record in before if record[0] == "response"]
    assert 20 < len(responses) <= 30
    for _, headers, _, content in responses:
        path = headers["WARC-Target-URI"].removeprefix(site.url)
        assert content.decode() == article("one", frame=path[1:])
    after = records(tmp_path / "index")
    assert after[: len(before)] == before
    assert [record[0] for record in after[len(before) :]] == ["warcinfo", "response", "metadata"]


def test_commands_look_for_files_where_crawls_write_them(tmp_path: Path) -> None:
    for index, journal, place in [
        ("", "/logs/journal.jsonl", "index"),
        ("redis://a", "", "index"),
        ("redis://a", "j.jsonl", "index"),
        ("redis://a", "/logs/%(name)s.j", "/logs"),
    ]:
        directory = tmp_path / "index"
        config = Config(dir=str(directory), index=index, journal=journal, dropped_warc="1 GB")  # type: ignore[arg-type]
        location = find_location(index) if index else directory
        target = Target(location, directory, config, Journals(()))
        assert target.warc_directory == find_warc_directory(config, find_journal_directory(config)) == tmp_path / place


def test_without_fastwarc_the_crawl_does_not_start(tmp_path: Path) -> None:
    code = f"""
import sys
sys.modules["fastwarc"] = None
import scrapy
from scrapy.crawler import CrawlerProcess
from tests.support.crawling import ADDONS
process = CrawlerProcess({{"ADDONS": ADDONS, "DEDUP_DIR": {str(tmp_path / "index")!r}, "DEDUP_DROPPED_WARC": "1 GB"}})
process.crawl(scrapy.Spider, name="x")
process.start()
"""
    result = run(["-c", code])
    sentence = 'DEDUP_DROPPED_WARC needs packages that are not installed (fastwarc): pip install "crawler-dedup['
    assert result.stderr.count(sentence) == 1
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "index").exists()


def test_a_crawl_whose_fastwarc_cannot_be_loaded_loses_nothing_but_the_files(tmp_path: Path) -> None:
    source = f"import sys\nsys.modules['fastwarc.warc'] = None\n{WALK}"
    crawl = crawl_pages(tmp_path, PAGES, source, settings=ON)
    assert crawl.paths() == ["/kept", "/other"]
    assert crawl.counts()["dropped"] == 2
    assert "Dropped pages cannot be stored in WARC files" in crawl.log
    assert "Traceback" not in crawl.log
