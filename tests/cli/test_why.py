import shlex
from contextlib import closing
from itertools import product
from pathlib import Path

import msgspec
import pytest
from click.testing import Result
from msgspec.structs import replace

from crawler_dedup import Config
from crawler_dedup.index import opening
from crawler_dedup.journal.entry import Entry, run_started
from crawler_dedup.signing.signer import Signer, config_from_spec
from tests.support.commandline import (
    FIRST,
    SECOND,
    check_pages,
    command,
    entries_of,
    invoke,
    json_lines,
    printed_text,
    write,
)
from tests.support.crawling import Site, article, html

KEPT, COPY, SECOND_COPY, OTHER, SHORT = (
    f"http://a.org/{name}" for name in ("kept", "copy", "second", "other", "short")
)
PAGES = {
    KEPT: article(1),
    COPY: article(1, frame="copy"),
    SECOND_COPY: article(1, frame="second"),
    OTHER: article(2),
    SHORT: "<p>short</p>",
}


pytestmark = pytest.mark.usefixtures("outside")


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """Return an index after a crawl of :data:`PAGES`."""
    check_pages(tmp_path / "index", PAGES)
    return tmp_path / "index"


def why(url: str, *arguments: object, status: int = 0) -> Result:
    return invoke("why", url, *arguments, status=status)


def lines(result: Result) -> list[str]:
    return [line.strip() for line in result.stdout.splitlines()]


# What became of a page


def entry_of_copy(index: Path) -> Entry:
    """Return the line of the journal about :data:`COPY`."""
    (entry,) = (entry for entry in entries_of(index / FIRST) if entry.url == COPY)
    return entry


def test_dropped_kept_and_unchecked_pages_are_reported_with_what_is_known_of_them(index: Path) -> None:
    entry = entry_of_copy(index)
    printed = lines(why(COPY, index))
    assert printed[:3] == [
        f"{COPY} was dropped: a duplicate of {KEPT}.",
        "rule “alike”, distance 0; nothing that counts distinguishes the two pages",
        f"{entry.time[:10]} {entry.time[11:19]} UTC, run {entry.run}, spider site, scope “site”",
    ]
    assert printed[3].startswith("“Article 1”; ")
    assert printed[4] == f"{KEPT} is kept: “Article 1”"
    assert f"{KEPT} has 1 other duplicate:" in printed
    assert any(line.startswith(SECOND_COPY) for line in printed)
    command = f"crawler-dedup compare {COPY} {KEPT} --index index --scope site"
    assert (
        printed[-1] == f"Their texts are not stored. `{command}` fetches both pages, and shows where they differ now."
    )
    printed = lines(why(KEPT, index))
    assert printed[0] == f"{KEPT} is kept: “Article 1”"
    assert f"{KEPT} has 2 duplicates:" in printed
    assert [line.split()[0] for line in printed if "(rule" in line] == [COPY, SECOND_COPY]
    assert lines(why(SHORT, index))[0] == f"{SHORT} passed unchecked: too little text."


def test_later_lines_of_the_journal_are_reported_too(index: Path) -> None:
    """A page that was alike to one being handled, two visits of unchanged pages, and many of one page."""
    entry = entry_of_copy(index)
    waited = replace(
        entry, event="unchecked", reason="a similar page is still being handled", url="http://a.org/waited"
    )
    check_pages(index, {KEPT: PAGES[KEPT]}, journal=SECOND)
    days = [replace(entry, time=f"2099-12-{day:02}T00:00:00.000Z") for day in range(1, 32)]
    write(index / SECOND, [waited, replace(entry, event="unchanged_dropped", url=KEPT, duplicate_of=""), *days])
    sentence = f"passed unchecked: a similar page is still being handled. It is similar to {KEPT}."
    assert lines(why("http://a.org/waited", index))[0] == f"http://a.org/waited {sentence}"
    printed = lines(why(KEPT, index))
    assert printed[0] == f"{KEPT} is kept: “Article 1”"
    assert "In the journal:" in printed
    assert any(f"{KEPT} was unchanged, and passed." in line for line in printed)
    assert any(f"{KEPT} was unchanged since an earlier visit, and dropped." in line for line in printed)
    assert f"{KEPT} has 2 duplicates:" in printed
    of_copy = why(COPY, index).stdout
    assert [day for day in (31, 12, 11) if f"2099-12-{day} 00:00:00 UTC, run" in of_copy] == [31, 12]


def test_a_kept_page_is_reported_with_its_earlier_drops(index: Path) -> None:
    check_pages(index, {COPY: article(3)}, journal=SECOND)
    printed = lines(why(COPY, index))
    assert printed[0] == f"{COPY} is kept: “Article 3”"
    assert any(f"{COPY} was dropped: a duplicate of {KEPT}." in line for line in printed)


def test_a_forgotten_page_is_reported_as_removed_by_forget_and_by_its_duplicates_as_no_longer_kept(index: Path) -> None:
    check_pages(index, {KEPT: PAGES[KEPT]}, journal=SECOND)
    assert any("was unchanged, and passed." in line for line in lines(why(KEPT, index)))
    invoke("forget", index, "--url", KEPT)
    (entry,) = (entry for entry in entries_of(index / SECOND) if entry.event == "forgotten")
    printed = lines(why(COPY, index))
    assert printed[0] == f"{COPY} was dropped: a duplicate of {KEPT}."
    assert f"{KEPT} is no longer kept." in printed
    printed = lines(why(KEPT, index))
    assert printed[0] == f"{KEPT} was removed by `forget` at {entry.time[:10]} {entry.time[11:19]} UTC."
    assert f"{KEPT} had 2 duplicates:" in printed
    assert json_lines("why", KEPT, index, "--json")[0]["kept"] is None
    assert "2 runs" in invoke("drops", index).stderr, "the line of `forget` is about no run"
    check_pages(index, {KEPT: PAGES[KEPT]}, journal="journal-2026-11-21T20-00-00.jsonl")
    assert lines(why(KEPT, index))[0] == f"{KEPT} is kept: “Article 1”"


def test_a_page_that_was_unchanged_and_is_gone_is_reported_as_no_longer_kept(index: Path) -> None:
    (index / SECOND).touch()
    check_pages(index, {KEPT: PAGES[KEPT]}, journal=SECOND)
    lines_before = (index / SECOND).read_bytes()
    invoke("forget", index, "--url", KEPT)
    (index / SECOND).write_bytes(lines_before)  # as if it had expired
    assert lines(why(KEPT, index))[0] == f"{KEPT} is no longer kept, in scope “site”."


def test_a_page_that_the_last_run_has_not_fetched_is_reported_so(tmp_path: Path) -> None:
    index = tmp_path / "index"
    check_pages(index, PAGES, marks=True, DEDUP_ACTION="mark")
    assert lines(why(COPY, index))[0] == f"{COPY} passed, marked as a duplicate of {KEPT}."
    run = check_run(index, {SECOND_COPY: PAGES[SECOND_COPY], KEPT: PAGES[KEPT]}, SECOND)
    missed = f"was not fetched in the last run of the spider site (run {run}, "
    printed = lines(why(COPY, index))
    assert printed[0].startswith(f"{COPY} {missed}")
    assert printed[0].endswith(" UTC), or was no HTML page with status 200.")
    assert printed[1] == "In the journal:"
    assert f"{COPY} passed, marked as a duplicate of {KEPT}." in printed[2]
    (line,) = json_lines("why", COPY, index, "--json")
    assert (line["duplicate_of"], line["missed_by"]) == ("", run)
    printed = lines(why(OTHER, index))
    assert printed[0].startswith(f"{OTHER} was kept in a dry run on ")
    assert printed[2].startswith(f"{OTHER} {missed}")
    # Of the pages of the last run only what that run has decided counts.
    printed = lines(why(SECOND_COPY, index))
    assert printed[0] == f"{SECOND_COPY} is kept: “Article 1”"
    assert f"{SECOND_COPY} has 1 duplicate:" in printed
    assert not any("was not fetched" in line for line in printed)
    assert lines(why(KEPT, index))[0] == f"{KEPT} was dropped: a duplicate of {SECOND_COPY}."


def check_run(directory: Path, pages: dict[str, str], journal: str) -> str:
    """Decide about *pages* in a run that drops, and return its number. By its journal it begins later than others."""
    check_pages(directory, pages, journal=journal)
    with closing(opening.open_index(directory)) as kept:
        records = kept.records()
        (run,) = {record.run for record in records if record.page.url in pages}
    entries = [run_started(run, "site"), *entries_of(directory / journal)]
    (directory / journal).unlink()
    write(directory / journal, [replace(entry, time="2099-01-01T00:00:00.000Z") for entry in entries])
    return f"{run:08x}"


def test_an_unchecked_page_that_a_dry_run_has_kept_is_reported_with_both(tmp_path: Path) -> None:
    index = tmp_path / "index"
    check_pages(index, PAGES, marks=True, DEDUP_ACTION="mark")
    check_pages(index, {KEPT: "<p>short</p>"}, journal=SECOND)
    (entry,) = entries_of(index / SECOND)
    (index / SECOND).unlink()
    write(index / SECOND, [replace(entry, time="2099-01-01T00:00:00.000Z")])
    printed = lines(why(KEPT, index))
    assert printed[0] == f"{KEPT} passed unchecked: too little text."
    assert any(line.startswith(f"{KEPT} was kept in a dry run on ") and ", and not since" in line for line in printed)
    (page,) = json_lines("why", KEPT, index, "--json")
    assert page["kept"]["dry_run"] is True


def test_a_changed_page_no_longer_represents_its_earlier_duplicates(index: Path) -> None:
    earlier = [replace(entry, time="2026-01-01T00:00:00.000Z") for entry in entries_of(index / FIRST)]
    (index / FIRST).unlink()
    write(index / FIRST, earlier)
    check_pages(index, {KEPT: article(4), "http://a.org/new": article(4, frame="new")}, journal=SECOND)
    printed = lines(why(KEPT, index))
    assert printed[0] == f"{KEPT} is kept: “Article 4”"
    assert f"{KEPT} has 1 duplicate:" in printed
    assert any(line.startswith("http://a.org/new") for line in printed)


def test_for_an_unknown_address_the_intended_one_or_all_that_may_be_are_reported(index: Path) -> None:
    for typed in (
        "https://a.org/kept",
        "http://www.a.org/kept/",
        "http://A.org/Kept#top",
        "http://u:p@a.org/kept/index.html",
    ):
        assert lines(why(typed, index))[:2] == [
            f"The page is known by another address, {KEPT}:",
            f"{KEPT} is kept: “Article 1”",
        ]
    assert f"{COPY} was dropped" in why(f"{COPY}/", index).stdout
    assert json_lines("why", "https://www.a.org/kept/", index, "--json")[0]["url"] == KEPT
    check_pages(index, {f"{KEPT}/": article(7)}, journal=SECOND)
    printed = lines(why(f"{KEPT}#top", index, status=1))
    assert printed[0].startswith(f"{KEPT}#top is not kept, and no journal names it. It was never fetched, it")
    assert sorted(printed[1:]) == [f"Known: {KEPT}", f"Known: {KEPT}/"]


def test_each_scope_has_its_own_answer(index: Path) -> None:
    check_pages(index, {COPY: article(9)}, journal=SECOND, scope="another")
    printed = lines(why(COPY, index))
    assert f"{COPY} was dropped: a duplicate of {KEPT}." in printed
    assert f"{COPY} is kept: “Article 9”" in printed


def test_of_many_duplicates_the_first_are_listed(tmp_path: Path) -> None:
    copies = {f"http://a.org/{number}": article(1, frame=str(number)) for number in range(13)}
    check_pages(tmp_path / "index", {KEPT: article(1), **copies})
    printed = why(KEPT, tmp_path / "index").stdout
    assert "… and 3 more (`crawler-dedup groups` lists all)" in printed
    assert printed.count("(rule") == 10


# The most similar page


STORIES = "".join(f'<li><a href="/{number}">Story {number}</a></li>' for number in range(9))
LIST = f"<title>Stories</title><h1>Stories</h1><ul>{STORIES}</ul>"


@pytest.mark.parametrize("action", ["drop", "mark"])
@pytest.mark.parametrize(
    ("kept", "page"), [(article(1), article(1).replace("</article>", "<p>In Leith</p>")), (LIST, f"{LIST}<p>In Leith")]
)
def test_a_kept_page_is_reported_with_the_most_similar_one_and_the_command_that_compares_both(
    tmp_path: Path, action: str, kept: str, page: str
) -> None:
    url, index = "http://a.org/print?page=1&of=2", tmp_path / "index"
    check_pages(index, {KEPT: kept, url: page, OTHER: article(2)}, DEDUP_ACTION=action)
    command = f"crawler-dedup compare '{url}' {KEPT} --index index --scope site"
    assert lines(why(url, index))[-2:] == [
        f"The most similar kept page is {KEPT}.",
        f"`{command}` shows what each page has that the other lacks.",
    ]
    assert lines(why(OTHER, index))[-1] == "No other kept page is similar."
    assert [json_lines("why", each, index, "--json")[0]["similar"] for each in (url, KEPT, OTHER)] == [KEPT, url, ""]


def test_of_a_page_that_is_kept_by_an_override_it_is_not_said_that_no_page_is_similar(index: Path) -> None:
    assert lines(why(OTHER, index))[-1] == "No other kept page is similar."
    invoke("keep", OTHER, "--index", index)
    assert "similar" not in why(OTHER, index).stdout


def test_a_second_address_is_not_taken_for_an_index(index: Path) -> None:
    printed = printed_text(why(KEPT, COPY, status=2))
    assert printed.endswith(
        f"'{COPY}' is the address of a page, not an index; `crawler-dedup compare NEW KEPT` compares two pages."
    )
    assert "no index" not in printed


# Journals


def test_without_a_journal_kept_pages_are_still_reported(tmp_path: Path) -> None:
    check_pages(tmp_path / "index", PAGES, journal="")
    result = why(KEPT, tmp_path / "index")
    assert result.stdout.startswith(f"{KEPT} is kept")
    assert "There is no journal beside the index" in result.stderr
    assert "It was never fetched" in why(COPY, tmp_path / "index", status=1).stdout


def test_an_incomplete_line_is_reported_and_the_rest_is_read(index: Path) -> None:
    whole = (index / FIRST).read_bytes()
    (index / FIRST).write_bytes(whole + whole[:60])
    result = why(COPY, index)
    assert result.stdout.startswith(f"{COPY} was dropped")
    assert result.stderr == f"{index / FIRST}: 1 line is damaged or cut off; the rest was read.\n"


# Both texts


def test_the_differences_of_stored_texts_are_shown(tmp_path: Path) -> None:
    pages = {KEPT: article(1, count=400), COPY: article(1, count=400, shortened=1)}
    check_pages(tmp_path / "index", pages, DEDUP_STORE_TEXT=True)
    printed = printed_text(why(COPY, tmp_path / "index"))
    assert "equal line" in printed
    assert "not stored" not in printed


def test_the_command_that_is_printed_fetches_both_pages_and_shows_changes_since_the_decision(
    live: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, command, _ = why(f"{live.url}/copy", "index").stdout.split("`")
    printed = printed_text(invoke(*shlex.split(command)[1:]))
    assert sorted(live.paths()) == ["/copy", "/kept"]
    assert "→ alike duplicate" in printed
    live.pages["/copy"] = html(article(1, count=300, changed=20))
    printed = printed_text(invoke(*shlex.split(command)[1:], status=1))
    assert "→ not covered different" in printed
    assert "the sites at the time of the decision" in printed


# Real crawls


def test_in_a_project_index_and_journal_are_those_of_its_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = asked_settings\n")
    settings = "DEDUP_DIR = 'my-index'\nDEDUP_JOURNAL = 'notes/%(name)s.log'\n"
    (tmp_path / "asked_settings.py").write_text(settings)
    check_pages(tmp_path / ".scrapy" / "my-index", PAGES, journal="site.log")
    for folder in (".scrapy/my-index/notes", "below"):
        (tmp_path / folder).mkdir()
    (tmp_path / ".scrapy/my-index/site.log").rename(tmp_path / ".scrapy/my-index/notes/site.log")
    for directory in (tmp_path, tmp_path / "below"):
        monkeypatch.chdir(directory)
        assert invoke("why", COPY).stdout.startswith(f"{COPY} was dropped: a duplicate of {KEPT}.\n")
    assert invoke("drops").stdout.count(f"{COPY}\t{KEPT}") == 1


@pytest.mark.parametrize(
    "source", ["raise RuntimeError('no such key')", "DEDUP_MAX_DISTANCE = 9", "import no_such_one"]
)
def test_settings_of_a_project_that_cannot_be_read_are_reported_in_a_sentence(tmp_path: Path, source: str) -> None:
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = broken_settings\n")
    (tmp_path / "broken_settings.py").write_text(source)
    done = command(tmp_path, "why", KEPT)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: ")
    assert len(done.stderr.splitlines()) == 1


# JSON Lines


def test_dropped_kept_and_unknown_pages_can_be_reported_as_json_lines(index: Path) -> None:
    (page,) = json_lines("why", COPY, index, "--json")
    assert (page["type"], page["url"], page["scope"], page["kept"]) == ("page", COPY, "site", None)
    assert page["duplicate_of"] == page["representative"]["url"] == KEPT
    assert page["representative"]["settled"] is True
    assert page["duplicates"] == [SECOND_COPY]
    assert page["events"] == [msgspec.to_builtins(entry_of_copy(index))]
    (page,) = json_lines("why", KEPT, index, "--json")
    assert (page["kept"]["title"], page["kept"]["dry_run"]) == ("Article 1", False)
    assert (page["duplicate_of"], page["representative"]) == ("", None)
    assert (page["duplicates"], page["events"]) == ([COPY, SECOND_COPY], [])
    assert json_lines("why", "http://a.org/unknown", index, "--json", status=1) == []


# The settings of an index


def test_pages_are_signed_again_as_the_index_was_made() -> None:
    for scheme, least, extractor in product(
        ("simhash", "shingling lookup=minima"), (20, 30), ("paragraphs", "trafilatura")
    ):
        signer = Signer(Config(tokenizer="bigrams", scheme=scheme, min_features=least, extractor=extractor))
        config = config_from_spec(signer.spec, Config(max_distance=3))
        assert (Signer(config).spec, config.max_distance) == (signer.spec, 3)
