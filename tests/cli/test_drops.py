from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from click.testing import Result
from msgspec.structs import replace

from crawler_dedup import Config, Deduplicator, Verdict
from crawler_dedup.cli.evaluation_output import format_share
from crawler_dedup.evaluation.answers import Answers
from crawler_dedup.evaluation.counts import Share
from crawler_dedup.evaluation.labelled import read_body, read_folder
from crawler_dedup.journal.entry import DUPLICATES
from crawler_dedup.journal.reader import Selection
from tests.support.crawling import Answer, Site, article, html, run_scrapy
from tests.support.noting import FIRST, SECOND, entries_of, invoke, note, said, write

ROOT = Path(__file__).parents[2]
BIGRAMS = ("-s", "DEDUP_TOKENIZER=bigrams")
HOSTILE = "\x1b]0;owned\x07\x9b2J\u202e"
KEPT = "http://a.org/kept"
COPIES = [f"http://a.org/{number}" for number in range(6)]
PAGES = {KEPT: article(1), **{url: article(1, frame=url) for url in COPIES}, "http://b.org/other": article(2)}


@pytest.fixture(autouse=True)
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of every Scrapy project."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """An index after a crawl in which six copies of one page were dropped."""
    note(tmp_path / "index", PAGES)
    return tmp_path / "index"


def urls(result: Result) -> list[str]:
    """The pages that `drops` lists."""
    return [line.split("  ")[0] for line in result.stdout.splitlines() if line and "“" in line and line[0] != " "]


# drops


def test_drops_are_listed_with_what_they_duplicate_and_why(index: Path) -> None:
    (entry,) = (one for one in entries_of(index / FIRST) if one.url == COPIES[0])
    result = invoke("drops", index)
    assert result.stdout.splitlines()[:3] == [
        f"{COPIES[0]}  “Article 1”",
        f"  ← {KEPT}",
        "    rule “alike”, distance 0, resemblance 1.00, coverage 1.00;"
        f" {entry.time[:10]} {entry.time[11:19]} UTC, run {entry.run}",
    ]
    assert urls(result) == COPIES
    assert result.stdout.splitlines()[-1] == "6 pages."


def test_marks_are_listed_as_passed_and_other_events_are_not(tmp_path: Path) -> None:
    note(tmp_path / "index", {**PAGES, "http://a.org/short": "<p>short</p>"}, marks=True)
    note(tmp_path / "index", {KEPT: PAGES[KEPT]}, journal=SECOND)  # unchanged
    result = invoke("drops", tmp_path / "index")
    assert urls(result) == COPIES
    assert result.stdout.count(", passed (mark)") == 6


@pytest.fixture
def mixed(index: Path) -> Path:
    """The journal of an index with drops of all kinds."""
    entry = entries_of(index / FIRST)[0]
    now = datetime.now(timezone.utc)
    entries = [
        replace(entry, url="http://www.b.org/1", time="2026-01-01T10:00:00.500Z", run="0000000a", rule="same bytes"),
        replace(entry, url="http://b.org:8080/2", time="2026-01-02T10:00:00.500Z", run="0000000b"),
        replace(entry, url="http://c.org/3", time=(now - timedelta(hours=3)).isoformat().replace("+00:00", "Z")),
        replace(entry, url="http://c.org/4", time=(now - timedelta(minutes=3)).isoformat().replace("+00:00", "Z")),
    ]
    (index / FIRST).unlink()
    write(index / FIRST, entries)
    return index


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        ((), "1234"),
        (("--host", "b.org"), "12"),
        (("--host", "www.B.org"), "12"),
        (("--host", "b.org:8080"), "2"),
        (("--host", "org"), ""),
        (("--rule", "same bytes"), "1"),
        (("--rule", "other titles"), ""),
        (("--run", "0000000B"), "2"),
        (("--since", "2026-01-02"), "234"),
        (("--since", "2026-01-02T10:00"), "234"),
        (("--since", "2026-01-02T10:00:01Z"), "34"),
        (("--since", "2026-01-02T12:00:00+02:00"), "234"),
        (("--since", "1h"), "4"),
        (("--since", "300m"), "34"),
        (("--since", "0.5d"), "34"),
        (("--since", "1h", "--host", "b.org"), ""),
        (("--rule", "alike", "--run", "0000000b"), "2"),
    ],
)
def test_drops_are_listed_that_all_options_ask_for(mixed: Path, options: tuple[str, ...], numbers: str) -> None:
    result = invoke("drops", mixed, *options, status=0 if numbers else 1)
    assert "".join(url[-1] for url in urls(result)) == numbers
    if not numbers:
        assert result.stdout == "No page was dropped, or none that is asked for.\n"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--since", "yesterday"), "neither a time"),
        (("--since", "5x"), "neither a time"),
        (("--since", "2026-13-01"), "neither a time"),
        (("--since", "999999999999d"), "neither a time"),
        (("--run", "0x12"), "is no run"),
        (("--rule", "alkie"), "There is no rule"),
        (("--run", "0000000g"), "is no run"),
        (("--sample", "-1"), "--sample"),
        (("--seed", "x"), "--seed"),
    ],
)
@pytest.mark.parametrize("command", ["drops", "judge"])
def test_a_wrong_value_is_a_sentence(index: Path, command: str, options: tuple[str, str], sentence: str) -> None:
    assert sentence in said(invoke(command, index, *options, status=2))


def test_without_a_journal_nothing_can_be_listed_or_judged(tmp_path: Path) -> None:
    note(tmp_path / "index", PAGES, journal="")
    for command in ("drops", "judge"):
        assert "There is no journal beside the index" in invoke(command, tmp_path / "index", status=2).stderr


def test_half_a_line_is_told_beside_the_list(index: Path) -> None:
    with (index / FIRST).open("ab") as file:
        file.write(b'{"half')
    result = invoke("drops", index)
    assert urls(result) == COPIES
    assert "damaged or cut in half" in result.stderr


def test_a_seed_draws_the_same_sample_again_and_in_its_order(index: Path) -> None:
    drawn = [urls(invoke("drops", index, "--sample", 3, "--seed", seed)) for seed in (1, 1, 2, 3, 4)]
    assert drawn[0] == drawn[1]
    assert len({tuple(one) for one in drawn}) > 1
    assert all(len(one) == 3 and one == sorted(one) for one in drawn)
    assert len(urls(invoke("drops", index, "--sample", 100))) == 6


def test_json_lines_are_lines_of_a_journal(index: Path, tmp_path: Path) -> None:
    (tmp_path / "lines.jsonl").write_text(invoke("drops", index, "--json").stdout, encoding="utf-8")
    assert entries_of(tmp_path / "lines.jsonl") == entries_of(index / FIRST)
    assert urls(invoke("drops", index, "--journal", tmp_path / "lines.jsonl")) == COPIES
    assert invoke("drops", index, "--json", "--host", "none.org", status=1).stdout == ""


def test_what_stands_on_pages_does_not_steer_the_terminal(index: Path) -> None:
    (entry, *_) = entries_of(index / FIRST)
    hostile = replace(
        entry, url=f"http://a.org/{HOSTILE}", duplicate_of=HOSTILE, title=HOSTILE, rule=HOSTILE, time=HOSTILE
    )
    write(index / FIRST, [hostile])
    for result in (invoke("drops", index), invoke("judge", index, typed="n\n" * 7)):
        assert "owned" in result.output
        assert all(one.isprintable() or one == "\n" for one in result.output)
    assert all(one not in invoke("drops", index, "--json").output for one in "\x1b\x07")


# judge


def judge(index: Path, typed: str, *options: object, status: int = 0) -> Result:
    return invoke("judge", index, *options, typed=typed, status=status)


def answers(folder: Path) -> dict[str, bool]:
    lines = (folder / "answers.jsonl").read_bytes().splitlines()
    return {one["entry"]["url"]: one["right"] for one in map(json.loads, lines)}


def told(right: int, of: int) -> str:
    return f"Precision so far: {format_share(Share(right, of))}, of {of}."


def test_answers_are_noted_and_their_precision_is_told_with_its_interval(index: Path) -> None:
    result = judge(index, "y\nn\ny\ny\ny\ny\n")
    assert list(answers(index / "judged").values()) == [True, False, True, True, True, True]
    found = [line for line in result.stdout.splitlines() if "Precision" in line]
    expected = [told(1, 1), told(1, 2), told(2, 3), told(3, 4), told(4, 5), told(5, 6)]
    assert [line[line.index("Precision") :] for line in found] == expected
    low, high = Share(5, 6).interval
    assert f"0.833 ({low:.3f}–{high:.3f})" in found[-1]


def test_what_is_skipped_is_asked_again_and_what_was_answered_is_not(index: Path) -> None:
    judge(index, "y\ns\nn\nq\n")
    assert answers(index / "judged") == {COPIES[0]: True, COPIES[2]: False}
    again = judge(index, "n\ny\ny\ny\n")
    assert urls(again) == [COPIES[1], *COPIES[3:]]
    assert told(4, 6) in again.stdout
    assert "No drop is left to judge" in judge(index, "").stdout


@pytest.mark.parametrize("end", ["", "q\n", "y", "maybe\nY \nq\n"])
def test_the_end_of_what_is_typed_ends_the_questions(index: Path, end: str) -> None:
    result = judge(index, f"n\n{end}")
    assert "Answers: " in result.stdout
    assert answers(index / "judged")[COPIES[0]] is False
    assert COPIES[2] not in answers(index / "judged")


def test_the_precision_is_that_of_what_was_asked_for(mixed: Path) -> None:
    judge(mixed, "n\n", "--host", "b.org")
    result = judge(mixed, "y\n", "--host", "b.org:8080")
    assert told(1, 1) in result.stdout
    assert told(2, 3) in judge(mixed, "y\n", "--since", "2026-01-01", "--sample", 1).stdout
    assert Answers(mixed / "judged").precision(Selection(DUPLICATES, rule="same bytes")) == Share(0, 1)


def test_as_many_are_asked_as_are_to_be_drawn(index: Path) -> None:
    drawn = [
        urls(judge(index, "", "--sample", 6, "--seed", 5)),
        urls(judge(index, "s\n" * 6, "--sample", 2, "--seed", 5)),
    ]
    assert [len(one) for one in drawn] == [1, 2]
    assert "1 of 2" in judge(index, "", "--sample", 2).stdout


def test_the_same_pair_dropped_twice_is_judged_once(index: Path) -> None:
    write(index / SECOND, entries_of(index / FIRST))
    judge(index, "y\n" * 20)
    assert "No drop is left to judge" in judge(index, "").stdout
    assert Answers(index / "judged").precision(Selection(DUPLICATES)).of == 6


def test_answers_without_texts_are_noted_and_make_no_pairs(index: Path, tmp_path: Path) -> None:
    result = judge(index, "y\ny\n", "--output", tmp_path / "answers")
    assert "No texts to show" in result.stdout
    assert [path.name for path in (tmp_path / "answers").iterdir()] == ["answers.jsonl"]


def test_a_damaged_answer_is_a_sentence(index: Path) -> None:
    judge(index, "y\nq\n")
    with (index / "judged" / "answers.jsonl").open("ab") as file:
        file.write(b'{"half')
    assert "line 2" in judge(index, "", status=2).stderr


STORED = {
    KEPT: article(1, count=300),
    COPIES[0]: article(1, count=300, changed=1),
    COPIES[1]: article(1, count=300, frame="f"),
}


def check_folder(folder: Path, pairs: dict[tuple[str, str], int]) -> None:
    """Hold a folder against *pairs* (addresses → label), and let the commands read it."""
    (found,) = read_folder(folder)
    address = {name: document.url for name, document in found.documents.items()}
    assert {(address[one.id_a], address[one.id_b]): one.label for one in found.pairs} == pairs
    for document in found.documents.values():
        body = read_body(folder, document)
        with Deduplicator.open(folder / "index", Config(tokenizer="bigrams")) as deduplicator:
            assert deduplicator.sign(document.url or "", body).features > 200
    evaluated = json.loads(invoke("evaluate", folder, "--json", "--jobs", 1, *BIGRAMS).stdout)["sets"][0]
    assert (evaluated["found"], evaluated["false"]) == (sum(pairs.values()), len(pairs) - sum(pairs.values()))
    assert "DEDUP_MAX_DISTANCE" in invoke("calibrate", folder, "--precision", 0, "--jobs", 1, *BIGRAMS).stdout


def test_from_stored_texts_answers_become_a_labelled_folder(tmp_path: Path) -> None:
    note(tmp_path / "index", STORED, DEDUP_STORE_TEXT=True, DEDUP_MAX_DISTANCE=7)
    result = judge(tmp_path / "index", "y\nn\n")
    assert "No texts to show" not in result.stdout
    assert "equal line" in result.stdout
    check_folder(tmp_path / "index" / "judged", {(COPIES[0], KEPT): 1, (COPIES[1], KEPT): 0})


def test_a_journal_with_texts_costs_the_answers_no_room(tmp_path: Path) -> None:
    note(tmp_path / "index", STORED, DEDUP_STORE_TEXT=True)
    judge(tmp_path / "index", "y\nq\n")
    (line,) = (tmp_path / "index" / "judged" / "answers.jsonl").read_bytes().splitlines()
    assert json.loads(line)["entry"]["text"] == ""


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Site]:
    """A site of which an index knows: a page, and two copies that were dropped."""
    paths = ["/kept", "/copy", "/gone"]
    with Site({path: html(article(1, count=300, frame=path)) for path in paths}) as site:
        note(tmp_path / "index", {site.url + path: article(1, count=300, frame=path) for path in paths})
        yield site


def test_from_pages_that_are_fetched_answers_become_a_labelled_folder(live: Site, tmp_path: Path) -> None:
    del live.pages["/gone"]
    result = judge(tmp_path / "index", "y\ny\n", "--fetch")
    assert "the answer has status 404" in result.stdout
    check_folder(tmp_path / "index" / "judged", {(f"{live.url}/copy", f"{live.url}/kept"): 1})
    assert len(answers(tmp_path / "index" / "judged")) == 2


def test_pages_are_fetched_when_they_are_asked_about_not_before(live: Site, tmp_path: Path) -> None:
    judge(tmp_path / "index", "q\n", "--fetch")
    assert sorted(live.paths()) == ["/copy", "/kept"]


def test_what_the_server_says_of_the_charset_is_believed(live: Site, tmp_path: Path) -> None:
    text = "Le café de la gare à côté a été fermé à l'été. " * 20
    for path in ("/kept", "/copy"):
        body = f"<p>{text}{path}</p>".encode("windows-1252")
        live.pages[path] = Answer(body, 200, (("Content-Type", "text/html; charset=windows-1252"),))
    assert "café de la gare à côté" in said(judge(tmp_path / "index", "y\nq\n", "--fetch"))


# forget


def exported(index: Path, tmp_path: Path, *options: object) -> list[str]:
    invoke("forget", index, *options, "--export", tmp_path / "urls.txt")
    return (tmp_path / "urls.txt").read_text(encoding="utf-8").splitlines()


def test_a_page_that_is_forgotten_is_new_again_and_what_it_swallowed_is_listed(index: Path) -> None:
    result = invoke("forget", index, "--url", KEPT)
    assert "1 page forgotten" in result.stdout
    assert [line.strip() for line in result.stdout.splitlines() if line.startswith("  ")] == COPIES
    with Deduplicator.open(index, Config(tokenizer="bigrams")) as deduplicator:
        page = deduplicator.sign(COPIES[0], PAGES[COPIES[0]].encode(), scope="site")
        assert deduplicator.decide([page])[0].verdict is Verdict.NEW


def test_the_list_holds_what_was_dropped_because_of_it_and_is_not_kept_now(index: Path, tmp_path: Path) -> None:
    other = {"http://b.org/copy": article(2, frame="copy")}  # because of another page
    changed = {COPIES[0]: article(3)}  # kept by now
    passed = {"http://a.org/mark": article(1, frame="mark")}
    note(index, {**other, **changed}, journal=SECOND)
    note(index, passed, journal="journal-2026-11-21T20-00-00.jsonl", marks=True)
    assert exported(index, tmp_path, "--url", KEPT) == [*COPIES[1:], *passed]


def test_what_another_page_stands_for_by_now_is_not_listed(index: Path, tmp_path: Path) -> None:
    (entry,) = (one for one in entries_of(index / FIRST) if one.url == COPIES[2])
    write(index / SECOND, [replace(entry, duplicate_of="http://b.org/other")])
    assert exported(index, tmp_path, "--url", KEPT) == [one for one in COPIES if one != COPIES[2]]


def test_several_pages_are_forgotten_at_once(index: Path, tmp_path: Path) -> None:
    note(index, {"http://b.org/copy": article(2, frame="copy")}, journal=SECOND)
    assert exported(index, tmp_path, "--older-than", "0s") == [*COPIES, "http://b.org/copy"]


def test_of_a_page_that_is_forgotten_already_what_it_swallowed_is_still_listed(index: Path, tmp_path: Path) -> None:
    invoke("forget", index, "--host", "a.org")
    assert exported(index, tmp_path, "--url", KEPT) == COPIES


def test_a_page_that_swallowed_nothing_has_an_empty_list(index: Path, tmp_path: Path) -> None:
    assert exported(index, tmp_path, "--url", "http://b.org/other") == []


def test_a_list_that_cannot_be_written_changes_nothing(index: Path, tmp_path: Path) -> None:
    result = invoke("forget", index, "--url", KEPT, "--export", tmp_path / "no" / "urls.txt", status=2)
    assert result.stderr.startswith("Error: ")
    assert invoke("why", KEPT, index).stdout.startswith(f"{KEPT} is kept")


def test_a_list_that_a_full_disk_does_not_take_changes_nothing(index: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    assert "No space left" in invoke("forget", index, "--url", KEPT, "--export", "/dev/full", status=2).stderr
    assert invoke("why", KEPT, index).stdout.startswith(f"{KEPT} is kept")


def test_a_journal_that_cannot_be_read_changes_nothing(index: Path, tmp_path: Path) -> None:
    (index / SECOND).write_text('{"version":0,"time":"","run":"","event":"drop","spider":"","scope":"","url":""}\n')
    result = invoke("forget", index, "--url", KEPT, "--export", tmp_path / "urls.txt", status=2)
    assert "older version" in result.stderr
    (index / SECOND).unlink()
    assert invoke("why", KEPT, index).stdout.startswith(f"{KEPT} is kept")


def test_without_a_journal_there_is_no_list_and_nothing_is_forgotten(tmp_path: Path) -> None:
    note(tmp_path / "index", PAGES, journal="")
    result = invoke("forget", tmp_path / "index", "--url", KEPT, "--export", tmp_path / "urls.txt", status=2)
    assert "There is no journal" in result.stderr
    assert not (tmp_path / "urls.txt").exists()
    result = invoke("forget", tmp_path / "index", "--url", KEPT)
    assert result.stdout.startswith("1 page forgotten.")
    assert "There is no journal" in result.stderr


def test_a_page_that_stays_has_swallowed_nothing_that_is_listed(index: Path, tmp_path: Path) -> None:
    export = tmp_path / "urls.txt"
    invoke("forget", index, "--url", KEPT, "--older-than", "1d", "--export", export, status=1)
    assert export.read_text() == ""


def test_an_address_that_nothing_has_is_told(index: Path) -> None:
    assert (
        "No kept page has the address http://a.org/typo."
        in invoke("forget", index, "--url", "http://a.org/typo", status=1).stderr
    )


def test_what_another_scope_keeps_under_the_same_address_is_crawled_again_all_the_same(
    index: Path, tmp_path: Path
) -> None:
    note(index, {COPIES[0]: article(3)}, journal=SECOND, scope="another")
    assert exported(index, tmp_path, "--url", KEPT) == COPIES


def test_it_must_be_said_what_to_forget(index: Path) -> None:
    assert "Say what to forget" in said(invoke("forget", index, status=2))


# What was swallowed is crawled again


def crawl(tmp_path: Path, *arguments: str) -> tuple[list[str], str]:
    """`scrapy crawl site` with an index in *tmp_path*; the paths of the pages that were kept, and the log."""
    (tmp_path / "pages.jsonl").unlink(missing_ok=True)
    settings = {
        "DEDUP_DIR": tmp_path / "index",
        "DEDUP_TOKENIZER": "bigrams",
        "DOWNLOAD_DELAY": 0,
        "AUTOTHROTTLE_ENABLED": False,
    }
    options = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
    done = run_scrapy(ROOT, "crawl", "site", *arguments, *options, "-O", str(tmp_path / "pages.jsonl"))
    items = tmp_path / "pages.jsonl"
    lines = items.read_text(encoding="utf-8").splitlines() if items.exists() else []
    return [re.sub("^http://[^/]*", "", json.loads(line)["url"]) for line in lines], done.stdout


def test_what_a_page_has_swallowed_is_crawled_again_from_the_list(tmp_path: Path) -> None:
    paths = ["/captcha", "/one", "/two"]
    blocked = {path: html(article("captcha", frame=path, links=paths)) for path in paths}
    whole = {path: html(article(path)) for path in paths}
    with Site(blocked) as site:
        kept, log = crawl(tmp_path, "-a", f"url={site.url}/captcha")
        assert kept == ["/captcha"], log
        site.pages.update(whole)
        listed = exported(tmp_path / "index", tmp_path, "--url", f"{site.url}/captcha")
        assert sorted(listed) == [f"{site.url}/one", f"{site.url}/two"]
        kept, log = crawl(tmp_path, "-a", f"urls={tmp_path / 'urls.txt'}")
    assert sorted(kept) == ["/one", "/two"], log


@pytest.mark.parametrize(
    ("content", "sentence"),
    [("", "Say where to start"), ("ftp://a.org/\n", "Not an http(s) URL: ftp://a.org/"), (None, "urls.txt")],
)
def test_a_list_that_leads_nowhere_is_told(tmp_path: Path, content: str | None, sentence: str) -> None:
    from crawler_dedup.spiders.site import SiteSpider

    if content is not None:
        (tmp_path / "urls.txt").write_text(content)
    with pytest.raises((ValueError, OSError), match=re.escape(sentence)):
        SiteSpider(urls=str(tmp_path / "urls.txt"))


def test_addresses_and_a_list_are_crawled_together(tmp_path: Path) -> None:
    from crawler_dedup.spiders.site import SiteSpider

    (tmp_path / "urls.txt").write_text("http://b.org/\r\n\n  http://a.org/é \n", encoding="utf-8")
    spider = SiteSpider(url="http://a.org/", urls=str(tmp_path / "urls.txt"))
    assert spider.start_urls == ["http://a.org/"]
    assert spider.listed_urls == ["http://b.org/", "http://a.org/é"]
    assert spider.hosts == {"a.org", "b.org"}
