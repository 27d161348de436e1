"""The review pages show drops as text, do what the commands do, and answer no one but the browser that has the address."""

import json
import signal
import socket
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import lxml.html
import pytest
from msgspec.json import encode as json_encode
from msgspec.structs import replace

from crawler_dedup.config import Config
from crawler_dedup.decision import DroppedRequest
from crawler_dedup.index.index import Index
from crawler_dedup.index.location import Location
from crawler_dedup.index.opening import open_index
from crawler_dedup.inspection.journals import Journals
from crawler_dedup.journal.entry import run_started
from crawler_dedup.review.review import Review
from crawler_dedup.signing.text import pack_text
from tests.support.commandline import FIRST, SECOND, check_pages, entries_of, invoke, lines_by_type, lines_in, write
from tests.support.crawling import WALK, Site, article, html, run_script
from tests.support.droppedpages import COPIES, KEPT
from tests.support.places import Places
from tests.support.reviewing import Browser, review

HOSTILE = (
    '<script>alert(1)</script>"><img src=x onerror=alert(1)><iframe src=//evil.org></iframe>'
    '<form action="//evil.org"><meta http-equiv=refresh content="0;//evil.org">'
)
pytestmark = pytest.mark.usefixtures("outside")


@pytest.fixture
def browser(dropped: Path) -> Iterator[Browser]:
    """Yield a browser with the review of an index with drops."""
    with review(dropped.parent, dropped) as opened:
        yield opened


def overrides(index: Location) -> list[str]:
    with closing(open_index(index)) as pages:
        return [str(override) for override in pages.list_overrides()]


def answers(directory: Path) -> list[int]:
    path = directory / "judged" / "answers.jsonl"
    return [json.loads(line)["label"] for line in path.read_text().splitlines()] if path.exists() else []


def add(index: Path, urls: Iterable[str], **fields: Any) -> None:
    """Add drops of *urls* to the journal, like the first one but for *fields*."""
    entry = entries_of(index / FIRST)[0]
    write(index / FIRST, [replace(entry, url=url, **fields) for url in urls])


# What is shown


def test_drops_are_found_by_words_host_rule_run_and_time(mixed: Path) -> None:
    with review(mixed.parent, mixed) as browser:
        counts = {
            query: len(browser.drops(query))
            for query in (
                "",
                "words=C.ORG/3",
                "words=c.org+nowhere",
                "host=b.org",
                "rule=same+bytes",
                "run=0000000b",
                "since=2026-01-02&until=2026-01-02",
                "spider=site&host=c.org",
            )
        }
    assert list(counts.values()) == [4, 1, 0, 2, 1, 1, 1, 2], counts


def test_the_most_doubtful_drops_come_first(dropped: Path, browser: Browser) -> None:
    add(dropped, ["http://a.org/2026/7"], title="Article 1 rejected", distance=7)
    page = browser.get(browser.drops()[0]).text
    assert browser.drops("order=time") != browser.drops()
    for shown in ("Article 1 rejected", "other words in the title: rejected", "signatures as far apart as allowed"):
        assert shown in page


def test_a_drop_is_shown_beside_its_representative_with_the_blocks_that_differ(tmp_path: Path) -> None:
    index = tmp_path / "index"
    check_pages(index, {KEPT: article(1), COPIES[0]: article(1, frame="copy")}, DEDUP_STORE_TEXT=True)
    with review(tmp_path, index) as browser:
        assert "Both pages have the same blocks" in browser.get(browser.drops()[0]).text
        (entry,) = entries_of(index / FIRST)
        write(index / FIRST, [replace(entry, text=pack_text("Not open today"), time="2027-01-01T00:00:00.000Z")])
        page = browser.get(browser.drops()[0]).text
        assert "<ins>Not open today</ins>" in page
        assert "the kept page was stored again since then" not in page
        write(index / FIRST, [replace(entry, url=COPIES[1], time="2020-01-01T00:00:00.000Z")])
        assert "the kept page was stored again since then" in browser.get(browser.drops()[-1]).text


def test_pages_are_fetched_when_a_person_asks_for_it_and_headings_and_links_are_marked(tmp_path: Path) -> None:
    own = "<h2>A heading</h2><p><a href=/only>a link to one more page</a></p>"
    with Site({"/kept": html(article(1)), "/copy": html(article(1).replace("</main>", f"{own}</main>"))}) as site:
        urls = [f"{site.url}{path}" for path in ("/kept", "/copy")]
        check_pages(tmp_path / "index", {urls[0]: article(1), urls[1]: article(1, frame="copy")})
        with review(tmp_path, tmp_path / "index") as browser:
            (path,) = browser.drops()
            assert "No text of these pages is stored" in browser.get(path).text
            assert not site.paths()
            assert browser.press(path, "fetch").status == 303
            page = browser.get(path).text
    assert '<span class="kind">heading</span> <ins>A heading</ins>' in page
    assert '<span class="kind">link</span> <ins>a link to one more page</ins>' in page


def test_a_dropped_page_that_is_stored_is_shown_without_a_request(tmp_path: Path) -> None:
    printed = article(1).replace("</article>", "<p>Printed from /kept</p></article>")
    pages = {"/kept": html(article(1)), "/copy": html(printed)}
    with Site(pages) as site:
        run_script(tmp_path, WALK, {"DEDUP_DROPPED_WARC": "1 MB"}, site=site.url, paths=[*pages])
        pages["/copy"] = html(article(2))
        site.asked.clear()
        with review(tmp_path, tmp_path / "index") as browser:
            (path,) = browser.drops()
            shown = browser.get(path).text
            assert "Printed from /kept" in shown
            assert "does not count: says where the page is" in shown
            assert not site.paths()
            browser.press(path, "fetch")
            assert site.paths() == ["/kept"]
            shown = browser.get(path).text
            assert "Blocks only in the dropped page: 1" in shown
            assert "does not count: says where the page is" in shown
        with review(tmp_path, tmp_path / "index") as browser:
            for file in (tmp_path / "index").glob("dropped-*"):
                file.unlink()
            assert "No text of these pages is stored" in browser.get(path).text


def test_groups_and_precision_have_pages(browser: Browser) -> None:
    first, *_ = browser.drops()
    assert len(browser.drops(f"kept={first.split('/')[2].split('?')[0]}")) == len(COPIES)
    browser.press(first, "right")
    assert "<td>1</td><td>1</td><td>100%</td><td>20.7% to 100%</td>" in browser.get("/precision").text


def test_drops_of_a_crawl_that_runs_are_shown_when_the_page_is_loaded_again(dropped: Path, browser: Browser) -> None:
    before = len(browser.drops())
    check_pages(dropped, {"http://a.org/later": article(1, frame="later")}, journal=SECOND)
    assert len(browser.drops()) == before + 1
    line = (dropped / SECOND).read_bytes().replace(b"later", b"latest")
    for half in (line[:30], line[30:]):  # a line that is being written
        with (dropped / SECOND).open("ab") as journal:
            journal.write(half)
        shown = len(browser.drops())
    assert shown == before + 2
    (dropped / SECOND).unlink()
    assert len(browser.drops()) == before


def test_a_page_that_only_a_dry_run_or_an_earlier_crawl_has_kept_is_not_called_kept(tmp_path: Path) -> None:
    index = tmp_path / "index"
    check_pages(index, {COPIES[0]: article(1), COPIES[1]: article(2)}, journal="", DEDUP_ACTION="mark")
    check_pages(index, {KEPT: article(1), COPIES[0]: article(1, frame="copy"), COPIES[2]: article(3)})
    (entry,) = entries_of(index / FIRST)
    write(index / FIRST, [replace(entry, url=COPIES[2], time="2100-01-01T00:00:00.000Z")])
    with review(tmp_path, index) as browser:
        assert [path for path in browser.drops() if "kept since then" in browser.get(path).text] == []
        assert len(browser.drops()) == 2
        for path in browser.drops():
            browser.press(path, "wrong")
    assert sorted(overrides(index)) == [f"keep {COPIES[0]}", f"keep {COPIES[2]}"]
    (group,) = lines_in(invoke("groups", index, "--json"))
    assert len(group["duplicates"]) == 2


def test_drops_before_a_line_that_cannot_be_read_are_not_lost(dropped: Path, browser: Browser) -> None:
    entry = entries_of(dropped / FIRST)[0]
    write(dropped / SECOND, [replace(entry, url="http://a.org/first"), replace(entry, url="http://a.org/second")])
    lines = (dropped / SECOND).read_bytes()
    head, line = lines.splitlines(keepends=True)
    for content, status in ((head + line.replace(b'"version":2', b'"version":9'), 409), (lines, 200)):
        with (dropped / SECOND).open("r+b") as journal:  # the same file
            journal.write(content)
        assert browser.get().status == status
    assert [len(browser.drops(f"words=a.org/{name}")) for name in ("first", "second")] == [1, 1]


def test_a_journal_that_was_replaced_by_a_longer_one_is_read_from_its_beginning(
    dropped: Path, browser: Browser
) -> None:
    entry = entries_of(dropped / FIRST)[0]
    assert browser.drops()
    (dropped / FIRST).rename(dropped / "rotated")
    write(dropped / FIRST, [replace(entry, url=f"http://b.org/{number}") for number in range(20)])
    assert len(browser.drops()) == len(browser.drops("host=b.org")) == 20
    assert "cannot be read" not in browser.get().text


def test_the_list_is_shown_again_where_it_was_left(dropped: Path, browser: Browser) -> None:
    add(dropped, (f"http://b.org/{number}" for number in range(60)))
    assert "page=1" in browser.drops("page=1")[0]
    tree: Any = lxml.html.fromstring(browser.get(browser.drops("page=1")[0]).text)
    (back,) = tree.xpath("//a[@data-key='l']/@href")
    assert len(browser.drops(back.partition("?")[2])) == 16


# What the buttons do


def test_buttons_do_what_the_commands_do_and_a_form_that_is_posted_twice_changes_nothing(
    dropped: Path, browser: Browser
) -> None:
    path = browser.drops()[0]
    url = next(url for url in COPIES if url in browser.get(path).text)
    for action in ("separate", "keep", "right", "wrong"):
        for _ in range(2):
            assert browser.press(path, action).status == 303
    assert sorted(overrides(dropped)) == [f"keep {url}", f"separate {url} {KEPT}"]
    assert "It was restored: the next crawl with the spider site" in invoke("why", url, dropped).stdout
    assert "restored: the next crawl of <bdi>site</bdi> requests it" in browser.get(path).text
    assert answers(dropped) == [1, 0]
    assert "you called this drop wrong" in browser.get(path).text
    browser.press(path, "separate undo")
    browser.press(path, "keep undo")
    assert overrides(dropped) == []
    check_pages(dropped, {url: article(3)}, journal=SECOND)
    kept, until = "the page has been kept since then", time.monotonic() + 60  # the index is not read for each page
    while kept not in (text := browser.get(path).text) and time.monotonic() < until:
        pass
    assert kept in text


def test_what_cannot_be_restored_is_said_and_the_answer_stored_all_the_same(dropped: Path, browser: Browser) -> None:
    add(dropped, ["http://a.org/sent"], request=DroppedRequest("POST", "parse"))
    add(dropped, ["http://a.org/marked"], event="mark")
    refused = browser.press(browser.drops("words=sent")[0], "wrong")
    assert browser.press(browser.drops("words=marked")[0], "wrong").status == 303
    assert refused.status == 409
    assert "it is the response to a POST, and no WARC file has it" in refused.text
    assert (answers(dropped), overrides(dropped)) == ([0, 0], [])


def test_the_response_to_a_post_is_restored_from_a_warc_file_wherever_that_is(places: Places) -> None:
    settings = {
        "DEDUP_DIR": str(places.folder / "index"),
        "DEDUP_JOURNAL": str(places.folder / "journals" / "journal-%(time)s.jsonl"),
        "DEDUP_DROPPED_WARC": "1 MB",
    }
    with Site({"/kept": html(article(1)), "/copy": html(article(1, frame="copy"))}) as site:
        server = {"DEDUP_INDEX": places.word()} if places.server else {}
        run_script(places.folder, WALK, settings | server, site=site.url, paths=["/kept", "/copy"])
    (journal,) = (places.folder / "journals").glob("*.jsonl")
    entries = [replace(entry, request=DroppedRequest("POST", "parse")) for entry in entries_of(journal)]
    journal.unlink()
    write(journal, entries)
    options = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
    with review(places.folder, places.word(), *options) as browser:
        (path,) = browser.drops()
        assert "The dropped page is stored as it was" in browser.get(path).text
        assert browser.press(path, "wrong").status == 303
    assert overrides(places()) == [f"keep {site.url}/copy"]


def test_the_index_is_not_read_to_its_end_to_restore_a_page(dropped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journals = Journals([dropped / FIRST])
    with closing(Review(dropped, lambda: journals, Config(), dropped, dropped / "judged")) as opened:
        opened.refresh()
        monkeypatch.setattr(Index, "records", None)
        _, (drop, *_) = opened.find({}, 0, 1, doubtful_first=True)
        opened.restore(drop)
    assert overrides(dropped) == [f"keep {drop.entry.url}"]


def test_the_next_page_without_an_answer_is_shown_after_any_number_of_answers(dropped: Path) -> None:
    entry = entries_of(dropped / FIRST)[0]
    doubtful = [replace(entry, url=f"http://a.org/2026/{number}", title="Other") for number in range(1100)]
    write(dropped / FIRST, doubtful)
    (dropped / "judged").mkdir()
    lines = [b'{"entry":%b,"label":1}' % json_encode(entry) for entry in doubtful]
    (dropped / "judged" / "answers.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    with review(dropped.parent, dropped) as browser:
        assert browser.get("/next").headers["location"].startswith("/drop/")


def test_the_next_page_without_an_answer_follows_a_right_one(browser: Browser) -> None:
    first, second, *_ = browser.drops("words=a.org")
    assert browser.press(first, "right").headers["location"].startswith("/next?words=a.org")
    assert browser.get("/next?words=a.org").headers["location"] == second
    for path in browser.drops():
        browser.press(path, "right")
    assert browser.get("/next").headers["location"].startswith("/?")


def test_answers_are_those_that_evaluate_reads_and_a_changed_answer_replaces_the_first(tmp_path: Path) -> None:
    index = tmp_path / "index"
    pages = {KEPT: article(1), **{url: article(1, frame=url) for url in COPIES[:2]}}
    check_pages(index, pages, DEDUP_STORE_TEXT=True)
    with review(tmp_path, index) as browser:
        first, second = browser.drops()
        browser.press(first, "right")
        browser.press(second, "right")
        browser.press(first, "wrong")
    lines = lines_by_type(invoke("evaluate", index / "judged", "--json", "-s", "DEDUP_TOKENIZER=bigrams"))
    counts = lines["evaluation_counts"][0]["counts"]
    assert (counts["found"], counts["false"]) == (1, 1)
    assert "2 answers" in invoke("judge", index, typed="q\n").stdout


# Hostile pages, and requests of others


def test_whatever_pages_say_is_shown_as_text(dropped: Path) -> None:
    long = "\n".join(f"{HOSTILE} {number}" for number in range(3000)) + "x" * 10_000_000
    url, script = f"http://a.org/?{HOSTILE}\u202e", "javascript:alert(1)"
    add(dropped, [url], title=HOSTILE, rule=HOSTILE, spider=HOSTILE, text=pack_text(long))
    add(dropped, [script], duplicate_of=script, time="2027-01-01T00:00:00.000Z")
    check_pages(dropped, {KEPT: article(9)}, journal="", DEDUP_STORE_TEXT=True)
    with review(dropped.parent, dropped) as browser:
        listed = browser.get()
        shown = [browser.get(path) for path in browser.drops()]
        asked = browser.get("/?words=%3Cscript%3Ealert(1)%3C/script%3E&host=%22%3E%3Cimg%3E&rule=%00&page=99999999999")
    for reply in (listed, asked, *shown):
        assert reply.status == 200
        assert len(reply.text) < 3_000_000
        assert "\u202e" not in reply.text
        tree: Any = lxml.html.fromstring(reply.text)
        assert not tree.xpath("//img | //iframe | //meta[@http-equiv] | //@*[starts-with(name(), 'on')] | //@style")
        assert tree.xpath("//script/@src") == ["/review.js"]
        assert {urlsplit(link).netloc for link in tree.xpath("//a/@href")} <= {"", "a.org"}
        assert all(action == "/" or action.startswith("/drop/") for action in tree.xpath("//form/@action"))
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy


def test_another_name_of_this_machine_is_refused(browser: Browser) -> None:
    for host in ("evil.org", "127.0.0.1", f"evil.org:{browser.port}", "127.0.0.1:1", ""):
        reply = browser.request("GET", "/", Host=host)
        assert reply.status in (400, 403)
        assert KEPT not in reply.text


def test_a_browser_without_the_token_is_refused(browser: Browser) -> None:
    token = browser.cookie.partition("=")[2]
    for cookie in ("", browser.cookie[:-1], f"other={token}", 'a="\\', "é"):
        assert browser.request("GET", "/", Cookie=cookie.encode().decode("latin-1")).status == 403
    assert browser.request("GET", "/?token=wrong", Cookie="").status == 403
    assert browser.request("GET", f"/?token={token}").headers["location"] == "/"
    headers = browser.request("GET", f"/?token={token}", Cookie="").headers["set-cookie"]
    assert "HttpOnly" in headers
    assert "SameSite=strict" in headers


def test_forms_of_other_sites_are_refused(dropped: Path, browser: Browser) -> None:
    path = browser.drops()[0]
    form = {"action": "keep", "form_token": "x"}
    for origin in ("http://evil.org", "null", f"https://{browser.host}", f"http://localhost:{browser.port}"):
        assert browser.press(path, "keep", origin).status == 403
    assert browser.request("POST", path, form).status == 403
    assert browser.request("POST", path, form, Origin=f"http://{browser.host}").status == 403
    assert browser.press(path, "keep", form_token="é").status == 403
    assert browser.press(path, "keep", filler="x" * 100_000).status == 413
    assert browser.press(path, "delete everything").status == 404
    assert overrides(dropped) == []


def test_nothing_but_the_pages_is_served(browser: Browser) -> None:
    outside = ["/../../etc/passwd", "/review.css/../pages.py", "/%2e%2e/review.py", "/drop/x", "/drop/1"]
    assert browser.drops(f"kept={10**30}") == []
    for path in [*outside, f"/drop/{10**30}"]:
        reply = browser.get(path)
        assert reply.status in (404, 409)
        assert "import" not in reply.text


# What can go wrong


def test_a_journal_without_drops_is_shown_as_such(tmp_path: Path) -> None:
    check_pages(tmp_path / "index", {KEPT: article(1)}, journal="")
    write(tmp_path / "index" / FIRST, [run_started(1, "site")])
    with review(tmp_path, tmp_path / "index") as browser:
        assert "The journal has no drop" in browser.get().text


def test_a_port_that_is_taken_is_named(dropped: Path, browser: Browser) -> None:
    assert f"Port {browser.port} cannot be used" in invoke("review", dropped, "--port", browser.port, status=2).stderr


def test_a_page_that_cannot_be_fetched_gets_a_sentence(dropped: Path, browser: Browser) -> None:
    add(dropped, ["http://127.0.0.1:1/gone"])
    reply = browser.press(browser.drops("words=gone")[0], "fetch")
    assert (reply.status, "http://127.0.0.1:1/gone cannot be fetched" in reply.text) == (409, True)


def test_ctrl_c_ends_the_review_while_a_page_is_waited_for(dropped: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        add(dropped, [f"http://127.0.0.1:{silent.getsockname()[1]}/"])
        with review(dropped.parent, dropped) as browser, ThreadPoolExecutor() as threads:
            pressed = threads.submit(browser.press, browser.drops("host=127.0.0.1")[0], "fetch")
            with silent.accept()[0]:
                browser.process.send_signal(signal.SIGINT)
                _, errors = browser.process.communicate(timeout=20)
    assert errors == ""
    assert isinstance(pressed.exception(), HTTPException | OSError)


def test_an_index_that_was_removed_gets_a_sentence(dropped: Path, browser: Browser) -> None:
    for file in dropped.iterdir():
        file.unlink()
    reply = browser.get()
    assert reply.status == 409
    assert "no index" in reply.text.lower()
