"""``crawler-dedup compare``, with and without an index, and pages that commands fetch."""

import gzip
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import Result
from msgspec.structs import replace

from crawler_dedup import Config, Deduplicator
from crawler_dedup.index import opening
from crawler_dedup.inspection.comparison import PairSites, find_sites
from crawler_dedup.inspection.fetching import fetch_page, load_page
from crawler_dedup.inspection.journals import Journals
from crawler_dedup.rules.limits import MIN_PAGES
from crawler_dedup.rules.sites import UNKNOWN_SITE
from crawler_dedup.rules.table import TABLE
from tests.support.commandline import FIRST, SECOND, check_pages, entries_of, invoke, json_lines, printed_text, write
from tests.support.crawling import Answer, Site, article, html, redirect
from tests.support.prose import html as page_of
from tests.support.prose import prose

BIGRAMS = ("--set", "DEDUP_TOKENIZER=bigrams")


LIST = "<ul>" + "".join(f'<li><a href="/{number}">story {number}</a>' for number in range(9)) + "</ul>"


def write_page(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def test_an_invalid_call_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_page(tmp_path, "deep.html", "<div>" * 1000)
    write_page(tmp_path, "short.html", "<p>short</p>")
    for arguments, sentence in [
        (["absent.html", "absent.html"], "does not exist"),
        (["deep.html", "deep.html"], "nested too deep"),
        (["short.html", "short.html"], "too little text"),
        (["deep.html", "deep.html", "--set", "DEDUP_TOKENIZER=none"], "DEDUP_TOKENIZER"),
        (["deep.html", "deep.html", "--set", "DEDUP_MAX_DISTANCE=9"], "DEDUP_MAX_DISTANCE"),
    ]:
        assert sentence in printed_text(invoke("compare", *arguments, status=2))


# compare


def compare(*arguments: object, status: int = 0) -> Result:
    return invoke("compare", *arguments, *BIGRAMS, status=status)


def table(result: Result) -> dict[str, list[str]]:
    """Return the rows of the rules that were printed: name → mark, what it says, what it has measured."""
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in result.stdout.splitlines() if "│" in line]
    names = {rule.name for rule in TABLE}
    return {row[1]: [row[0], *row[2:]] for row in cells if len(row) == 4 and row[1] in names}


@pytest.fixture
def kept(tmp_path: Path) -> str:
    return write_page(tmp_path, "kept.html", article("x", frame="Home News"))


@pytest.fixture
def site() -> Iterator[Site]:
    pages = {"/kept": html(article("x")), "/copy": html(article("x", frame="copy")), "/other": html(article("y"))}
    with Site(pages) as opened:
        yield opened


def test_every_row_is_shown_and_the_deciding_one_marked(tmp_path: Path, kept: str) -> None:
    shown = table(compare(write_page(tmp_path, "new.html", article("y")), kept, status=1))
    assert list(shown) == [rule.name for rule in TABLE]
    assert [name for name, row in shown.items() if row[0] == "→"] == ["signatures far apart"]
    assert shown["signatures far apart"][1] == "different"
    assert shown["other titles"][1] == "(different)", "what stands behind it was not asked"
    assert shown["same bytes"][1] == "–"


def test_texts_and_lines_of_one_page_alone_are_shown(tmp_path: Path, kept: str) -> None:
    shown = printed_text(
        compare(write_page(tmp_path, "new.html", article("x", changed=1, frame="Menu")), kept, status=1)
    )
    assert "the kept page lacks: a text: " in shown
    assert "not compared (in navigation, a footer or the like): Menu" in shown
    assert "not compared (in navigation, a footer or the like): Home News" in shown
    kept_lacks, _, new_lacks = shown.partition("the kept page lacks: ")[2].partition("the new page lacks: ")
    assert ("Bungunro" in kept_lacks, "Vesattat" in new_lacks) == (True, True)


def test_measures_of_the_scheme_are_shown_even_if_its_look_up_does_not_find_the_page(tmp_path: Path) -> None:
    whole, part = (write_page(tmp_path, f"{count}.html", page_of(prose(1, count)).decode()) for count in (100, 60))
    for scheme, status, answer in (("shingling", 1, "no"), ("shingling lookup=mod", 0, "yes")):
        shown = compare(part, whole, "--brief", "-s", f"DEDUP_SCHEME={scheme}", status=status).stdout
        figures = dict(re.findall(r"│ ([a-z: -]+?) +│ ([a-z0-9.]+) +│ +│", shown))
        assert (figures["found by its signature"], figures["signatures similar enough"]) == (answer, answer)
        assert float(figures["scheme: resemblance"]) == pytest.approx(0.6, abs=0.15)
        assert float(figures["scheme: coverage"]) == 1


def test_a_brief_answer_leaves_the_texts_out_and_a_gzipped_file_is_unpacked(tmp_path: Path, kept: str) -> None:
    whole = gzip.compress(article("x").encode())
    (tmp_path / "new.html.gz").write_bytes(whole)
    brief = compare(tmp_path / "new.html.gz", kept, "--brief")
    assert article("x").split("<p>")[1][:60] not in brief.stdout
    assert len(table(brief)) == len(TABLE)
    assert brief.stdout.splitlines()[-1] == "duplicate: alike"
    for damaged in (whole[:-20], b"no gzip", whole[:20] + b"\0" * 20 + whole[40:]):
        (tmp_path / "new.html.gz").write_bytes(damaged)
        assert "cannot be read" in compare(tmp_path / "new.html.gz", kept, status=2).stderr


def test_links_are_resolved_against_the_addresses_of_the_files(tmp_path: Path) -> None:
    path = write_page(tmp_path, "list.html", LIST)
    both = ("--new-url", "http://a.org/", "--kept-url")
    assert compare(path, path, *both, "http://a.org/other").stdout.endswith("duplicate: same bytes\n")
    assert table(compare(path, path, "--new-url", "http://a.org/x/"))["same bytes"][1] == "duplicate"


def test_addresses_are_fetched_and_compared_also_with_a_file(site: Site, kept: str) -> None:
    result = compare(f"{site.url}/copy", f"{site.url}/kept")
    assert sorted(site.paths()) == ["/copy", "/kept"]
    assert f"address {site.url}/copy {site.url}/kept" in printed_text(result)
    last = compare(f"{site.url}/other", kept, "--kept-url", f"{site.url}/kept", status=1).stdout
    assert last.endswith("different: signatures far apart\n")


def test_an_address_without_a_page_is_reported_in_a_sentence(site: Site, kept: str) -> None:
    for answer, sentence in [
        (html("gone", status=404), "the answer has status 404"),
        (redirect("/new"), "too many redirects"),
        (Answer(b"half", 200, (("Content-Length", "9"), ("Content-Type", "text/html"))), "cannot be fetched"),
    ]:
        site.pages["/new"] = answer
        result = compare(f"{site.url}/new", kept, status=2)
        assert result.stdout == ""
        assert result.stderr.startswith(f"Error: {site.url}/new cannot be fetched")
        assert sentence in result.stderr


def test_an_invalid_address_is_reported_in_a_sentence(kept: str) -> None:
    for address in ["http://", "http://[::1", "http://a b/", "https://127.0.0.1:1/", "http://127.0.0.1:99999/"]:
        assert compare(address, kept, status=2).stderr.startswith(f"Error: {address} cannot be fetched")


# JSON Lines


@pytest.mark.parametrize(("seed", "status", "rule"), [("x", 0, "alike"), ("y", 1, "signatures far apart")])
def test_a_comparison_is_printed_as_json_lines(tmp_path: Path, seed: str, status: int, rule: str) -> None:
    pages = (
        write_page(tmp_path, "new.html", article(seed, frame="Menu")),
        write_page(tmp_path, "kept.html", article("x")),
    )
    call = ("compare", *pages, *BIGRAMS, "--json")
    (line,) = json_lines(*call, status=status)
    assert (line["type"], line["duplicate"], line["rule"]) == ("comparison", not status, rule)
    assert [result["rule"] for result in line["rules"]] == [row.name for row in TABLE]
    assert [result["rule"] for result in line["rules"] if result["decides"]] == [rule]
    assert (line["signatures"]["agree"], line["signatures"]["distance"] < 8) == (not status, not status)
    assert {lack["exemption"] for lack in line["kept_lacks"]} >= {"in navigation, a footer or the like"}
    for lacks in (line["kept_lacks"], line["new_lacks"]):
        assert any(not lack["exemption"] for lack in lacks) == (seed == "y")
    (brief,) = json_lines(*call, "--brief", status=status)
    assert (brief["new"]["text"], brief["distance"]) == (None, line["distance"])


def test_pages_that_cannot_be_compared_are_printed_with_the_reason(tmp_path: Path) -> None:
    (line,) = json_lines("compare", *[write_page(tmp_path, "short.html", "<p>short</p>")] * 2, "--json", status=2)
    assert (line["duplicate"], line["rule"], line["distance"]) == (None, None, None)
    assert line["new"]["unsigned"] == "too little text"
    assert line["signatures"] is None


# Fetching


def test_a_fetched_page_has_its_bytes_final_address_and_charset(site: Site) -> None:
    site.pages |= {"/moved": redirect("/folder/moved"), "/folder/moved": redirect("../gbk")}
    site.pages["/gbk"] = Answer("茶馆".encode("gbk"), 200, (("Content-Type", "text/html; charset=GBK"),))
    fetched = fetch_page(f"{site.url}/moved", 100)
    assert (fetched.url, fetched.body.decode("gbk"), fetched.encoding) == (f"{site.url}/gbk", "茶馆", "gb18030")


def test_no_more_of_a_response_is_read_than_is_used(site: Site, tmp_path: Path) -> None:
    large = b"x" * 1_000_000
    site.pages["/large"] = Answer(large)
    site.pages["/bomb"] = Answer(gzip.compress(large), 200, (("Content-Encoding", "gzip"),))
    (tmp_path / "large.html.gz").write_bytes(gzip.compress(large))
    for location in (f"{site.url}/large", f"{site.url}/bomb", str(tmp_path / "large.html.gz")):
        assert load_page(location, "http://a.org/", 1_000).body == large[:1_001]


def test_no_error_shows_the_password_of_a_server_that_is_given_in_place_of_a_file() -> None:
    for command in ["index import", "index verify", "evaluate", "works add", "demo"]:
        result = invoke(*command.split(), "redis://reader:secret@127.0.0.1:1/0", status=2)
        assert "redis://127.0.0.1:1/0" in result.output or "server" in result.output
        assert "secret" not in result.output
        assert "reader" not in result.output


# With an index: decisions are repeated by what was known of the sites when they were made


KEPT, COPY = "http://a.org/0", "http://a.org/copy"
NAME = "</title>", " | Tea House</title>"
UNNAMED = "<title>Article", "<title>Gazette"  # which no heading names
LATER = 24


def retitled_copy() -> str:
    """Return a copy of a page whose title lacks what the site writes into all others."""
    return article(0, count=60, frame="copy").replace(*NAME).replace(*UNNAMED)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an index in which a copy was dropped with knowledge of the site that has changed since."""
    monkeypatch.chdir(tmp_path)
    named = {
        f"http://a.org/{number}": article(number, count=60).replace(*NAME).replace(*UNNAMED)
        for number in range(1, MIN_PAGES)
    }
    named[KEPT] = article(0, count=60).replace(*UNNAMED)
    check_pages(tmp_path / "index", {**named, COPY: retitled_copy()})
    later_pages = {f"http://a.org/later/{number}": article(f"later {number}") for number in range(LATER)}
    check_pages(tmp_path / "index", later_pages, journal=SECOND)
    (tmp_path / "kept.html").write_text(named[KEPT])
    (tmp_path / "copy.html").write_text(retitled_copy())
    return tmp_path / "index"


def repeat(index: Path, *arguments: object, status: int) -> str:
    files = "copy.html", "kept.html", "--new-url", COPY, "--kept-url", KEPT, "--brief"
    return printed_text(invoke("compare", *files, "--index", index, *arguments, status=status))


def find(index: Path) -> PairSites:
    with closing(opening.open_index(index)) as pages:
        return find_sites(pages, Journals.beside(index, "journal-%(time)s.jsonl"), "site", COPY, KEPT)


def change_journal(index: Path, **fields: object) -> None:
    """Let the journal say something else of the copy."""
    entries = entries_of(index / FIRST)
    (index / FIRST).unlink()
    write(index / FIRST, [replace(entry, **fields) if entry.url == COPY else entry for entry in entries])


def test_a_decision_is_repeated_with_what_was_known_then(index: Path) -> None:
    (entry,) = (entry for entry in entries_of(index / FIRST) if entry.url == COPY)
    assert (entry.snapshot, entry.kept_snapshot) == (MIN_PAGES, MIN_PAGES)
    output = repeat(index, "--scope", "site", status=0)
    assert "used what was known about the sites at the time of the decision." in output
    assert output.endswith("duplicate: alike")
    (line,) = json_lines("compare", "copy.html", "kept.html", "--new-url", COPY, "--index", index, "--json", status=1)
    assert (line["snapshot"], line["kept_snapshot"]) == (0, 0)
    elsewhere = repeat(index, "--scope", "elsewhere", status=1)
    assert "knows nothing about these sites in the scope “elsewhere”" in elsewhere


def test_pages_without_a_decision_are_compared_with_what_is_known_now(index: Path) -> None:
    change_journal(index, url="http://a.org/elsewhere")
    output = repeat(index, "--scope", "site", status=1)
    assert "used what the index now knows about the sites." in output
    assert output.endswith("different: other titles")
    assert (find(index).new.number, find(index).kept.number) == (32, 32)


def test_the_scope_of_the_sites_is_that_of_the_setting_unless_it_is_given(index: Path) -> None:
    with Deduplicator.open(index, Config(tokenizer="bigrams")) as deduplicator:
        for number in range(MIN_PAGES):
            deduplicator.check(f"http://a.org/{number}", article(number).encode())
    compared = "compare", "copy.html", "kept.html", "--new-url", COPY, "--index", index, "--json"
    (line,) = json_lines(*compared, status=1)
    assert (line["snapshot"], line["kept_snapshot"]) == (MIN_PAGES, MIN_PAGES)
    (line,) = json_lines(*compared, "--set", "DEDUP_SCOPE=domain", status=1)
    assert (line["snapshot"], line["kept_snapshot"]) == (0, 0)


def test_what_a_journal_does_not_say_or_an_index_no_longer_has_is_reported(index: Path) -> None:
    change_journal(index, snapshot=None, kept_snapshot=None)
    assert "is no longer kept" in repeat(index, "--scope", "site", status=1)
    changes: list[dict[str, object]] = [
        {"snapshot": 9, "kept_snapshot": MIN_PAGES},
        {"snapshot": MIN_PAGES, "kept_snapshot": 9},
        {"snapshot": MIN_PAGES, "kept_snapshot": MIN_PAGES, "time": "2020-01-01T00:00:00.000Z"},
    ]
    for fields in changes:
        change_journal(index, **fields)
        assert "is no longer kept" in repeat(index, "--scope", "site", status=1)
    change_journal(index, snapshot=0, kept_snapshot=0)  # it was made without knowledge
    sites = find(index)
    assert sites.new is sites.kept is UNKNOWN_SITE
