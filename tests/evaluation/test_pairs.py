"""Labelled pairs are read, judged by the rules of a crawl, and counted."""

import gzip
import os
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from crawler_dedup import Config, SignedPage
from crawler_dedup.evaluation.labelled import LabelledPair, Share, read_folder
from crawler_dedup.evaluation.pairs import (
    DirectionResult,
    PairResult,
    SignedDocument,
    Sites,
    decide_direction,
    evaluate_pairs,
    learn_sites,
    sign_documents,
)
from crawler_dedup.rules.limits import MIN_PAGES
from crawler_dedup.rules.sites import UNKNOWN_SITE, hash_part
from crawler_dedup.signedpage import Trait
from crawler_dedup.signing.schemes import SimHash
from tests.support.commandline import invoke, lines_by_type, printed_text
from tests.support.crawling import article, paragraphs, words
from tests.support.labelled import pair, write_lines, write_set
from tests.support.prose import html, prose, sentences
from tests.support.signedpages import block

CONFIG = Config(tokenizer="bigrams")
BIGRAMS = ("-s", "DEDUP_TOKENIZER=bigrams")


def copies(count: int) -> dict[str, str]:
    """Return pages 0, 0c, 1, 1c, …: each with its copy in another frame, and different from all others."""
    return {
        name: article(number, frame=frame)
        for number in range(count)
        for name, frame in ((f"{number}", ""), (f"{number}c", "copy"))
    }


@pytest.fixture
def four_outcomes(tmp_path: Path) -> Path:
    """Write 3 found, 2 missed, 1 false, 4 different and 2 grey pairs, of which one is dropped."""
    pairs = [pair(f"{number}", f"{number}c", 1) for number in range(3)]
    pairs += [pair("0", "1", 1), pair("1", "2", 1)]
    pairs += [pair("3", "3c", 0)]
    pairs += [pair("0", "2", 0), pair("0", "3", 0), pair("1", "3", 0), pair("2", "3", 0)]
    pairs += [pair("4", "4c", "grey"), pair("0", "4", "grey")]
    return write_set(tmp_path, copies(5), pairs)


def judged_folder(folder: Path) -> list[PairResult]:
    sets = read_folder(folder)
    return evaluate_pairs(sets, sign_documents(folder, sets, CONFIG, 1, lambda _: None), CONFIG)


# The command


def evaluated(folder: Path, *options: object) -> Result:
    return invoke("evaluate", folder, "--jobs", 1, *BIGRAMS, *options)


def report(folder: Path, *options: object) -> dict[str, list[Any]]:
    """Return what ``--json`` prints, by type."""
    return lines_by_type(evaluated(folder, "--json", *options))


def counts_of(lines: dict[str, list[Any]]) -> dict[str, Any]:
    """Return the outcomes of all pairs."""
    (row,) = (row for row in lines["evaluation_counts"] if not row["set"] and not row["part"])
    counts: dict[str, Any] = row["counts"]
    return counts


def rows(result: Result) -> dict[str, list[str]]:
    """Return the tables that were printed, without that of distances: first cell → the others."""
    lines = ([cell.strip() for cell in line.split("│")[1:-1]] for line in result.output.splitlines() if "│" in line)
    return {cells[0]: cells[1:] for cells in lines if not cells[0].isdigit()}


# Reading


def test_sets_in_a_folder_and_one_level_below_are_read_with_the_documents_of_their_pairs(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    write_set(folder, copies(2), [pair("0", "1c", 0)], name="one.")
    (folder / "html/1.html").unlink()
    write_set(folder, {}, [], name="two.", suffix=".gz")
    for place, suffix in (("", ""), ("below/", ".gz"), ("below/news.", "")):
        write_lines(folder / f"{place}docs.jsonl{suffix}", [{"id": "0", "html": "html/0.html"}])
        write_lines(folder / f"{place}pairs.jsonl{suffix}", [pair("0", "0", 1)])
    write_lines(folder / "below/summary.jsonl", [])
    for name in ("news.docs.jsonl", "news.pairs.jsonl", "old.pairs.jsonl", "sub/pairs.jsonl"):
        (folder / name).mkdir(parents=True)
    read = {
        labelled_set.name: (sorted(labelled_set.documents), labelled_set.pairs) for labelled_set in read_folder(folder)
    }
    documents = {name: of_set for name, (of_set, _) in read.items()}
    assert documents == {"one": ["0", "1c"], "two": [], "folder": ["0"], "below": ["0"], "below/news": ["0"]}
    assert [(each.id_a, each.label) for each in read["below"][1]] == [("0", 1)]


def test_a_gzipped_page_and_a_plain_text_are_signed_like_the_page(tmp_path: Path) -> None:
    text = words("x")
    page = f"<html><body><article><p>a &lt; b, &lt;script&gt;</p>{paragraphs(text)}</article></body></html>"
    plain = "a < b, <script>\n\n" + paragraphs(text).replace("<p>", "").replace("</p>\n", "\n\n")
    (tmp_path / "page.html").write_text(page)
    (tmp_path / "packed.html.gz").write_bytes(gzip.compress(page.encode()))
    documents = [{"id": "page", "html": "page.html"}, {"id": "packed", "html": "packed.html.gz"}]
    write_lines(tmp_path / "docs.jsonl", [*documents, {"id": "text", "text": plain}])
    write_lines(tmp_path / "pairs.jsonl", [pair("page", "packed", 1), pair("page", "text", 1)])
    assert [
        (judged_pair.is_duplicate, judged_pair.a.first_line == judged_pair.b.first_line)
        for judged_pair in judged_folder(tmp_path)
    ] == [(True, True)] * 2


PAIR = '{"id_a": "1", "id_b": "1", "label": 1}'
DOCUMENTS = '{"id": "1", "html": "1.html"}\n{"id": "2", "html": "1.html"}\n'


@pytest.mark.parametrize(
    ("documents", "pairs", "sentence"),
    [
        (DOCUMENTS, '\n{"id_a": "1"', "pairs.jsonl, line 2: Input data was truncated"),
        (DOCUMENTS, '{"id_a": "1", "id_b": "2"}', "pairs.jsonl, line 1: Object missing required field `label`"),
        (DOCUMENTS, '{"id_a": "1", "id_b": "2", "label": 2}', "pairs.jsonl, line 1: Invalid enum value 2"),
        (DOCUMENTS, '{"id_a": "1", "id_b": "2", "label": "gray"}', "pairs.jsonl, line 1: Invalid enum value 'gray'"),
        (DOCUMENTS, '{"id_a": "1", "id_b": "3", "label": 1}', "pairs.jsonl, line 1: docs.jsonl has no document '3'"),
        ("{}", "", "docs.jsonl, line 1: Object missing required field `id`"),
        ('{"id": "1", "html": "\xff"}', "", "docs.jsonl, line 1: "),
        ('{"id": "1"}', "", "docs.jsonl, line 1: A document needs either `html`, the name of a file, or `text`"),
        ('{"id": "1", "html": "1.html", "text": "x"}', "", "docs.jsonl, line 1: A document needs either `html`"),
        (DOCUMENTS + '{"id": "2", "html": "2.html"}', "", "docs.jsonl, line 3: '2' is the identifier of another page"),
        ('{"id": "1", "html": "../1.html"}', PAIR, "docs.jsonl, line 1: the HTML file ../1.html is not in "),
        ('{"id": "1", "html": "/etc/hostname"}', PAIR, "docs.jsonl, line 1: the HTML file /etc/hostname is not in "),
        ('{"id": "1", "html": "link.html"}', PAIR, "docs.jsonl, line 1: the HTML file link.html is not in "),
        ('{"id": "1", "html": "absent.html"}', PAIR, "docs.jsonl, line 1: there is no HTML file "),
    ],
)
def test_an_invalid_line_is_reported_with_file_and_number(
    tmp_path: Path, documents: str, pairs: str, sentence: str
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for page in (folder / "1.html", tmp_path / "1.html"):
        page.write_text(article("x"))
    (folder / "link.html").symlink_to(tmp_path / "1.html")
    (folder / "docs.jsonl").write_text(documents, encoding="latin-1")
    (folder / "pairs.jsonl").write_text(pairs)
    refused = printed_text(invoke("evaluate", folder, "--jobs", 1, status=2))
    assert refused.startswith("Error: ")
    assert sentence in refused


def test_folders_without_a_complete_set_are_refused(tmp_path: Path) -> None:
    assert "holds no labelled pages" in printed_text(invoke("evaluate", tmp_path, status=2))
    write_lines(tmp_path / "news.pairs.jsonl", [])
    write_lines(tmp_path / "docs.jsonl", [])
    assert "news.pairs.jsonl has no news.docs.jsonl beside it" in printed_text(invoke("evaluate", tmp_path, status=2))
    write_lines(tmp_path / "news.docs.jsonl", [])
    write_lines(tmp_path / "news.pairs.jsonl.gz", [])
    assert "the set news exists twice" in printed_text(invoke("evaluate", tmp_path, status=2))


@pytest.mark.parametrize("name", ["pairs.jsonl.gz", "html/0.html.gz"])
@pytest.mark.parametrize(
    "content",
    [b"no gzip", gzip.compress(b"x" * 10_000, mtime=0)[:-20], gzip.compress(b"x", mtime=0)[:9] + b"\xff"],
    ids=["none", "cut", "broken"],
)
def test_a_damaged_gzipped_file_is_reported_in_a_sentence(tmp_path: Path, name: str, content: bytes) -> None:
    write_set(tmp_path, copies(1), [pair("0", "0c", 1)])
    document = {"id": "0", "html": "html/0.html.gz"}
    write_lines(tmp_path / "docs.jsonl", [document, {"id": "0c", "html": "html/0c.html"}])
    (tmp_path / "html/0.html.gz").write_bytes(gzip.compress(b"<p>x"))
    if name == "pairs.jsonl.gz":
        (tmp_path / "pairs.jsonl").unlink()
    (tmp_path / name).write_bytes(content)
    refused = printed_text(invoke("evaluate", tmp_path, "--jobs", 1, status=2))
    assert refused.startswith("Error: ")
    assert f"{name} cannot be read: " in refused


# Signing and judging


@pytest.mark.usefixtures("forked_workers")
def test_several_processes_sign_as_a_single_one(four_outcomes: Path) -> None:
    sets = read_folder(four_outcomes)
    done: list[int] = []
    alone, together = (sign_documents(four_outcomes, sets, CONFIG, jobs, done.append) for jobs in (1, 2))
    assert alone == together
    assert sum(done) == 2 * len(alone)
    assert {document_id for _, document_id in alone} == {"0", "0c", "1", "1c", "2", "2c", "3", "3c", "4", "4c"}


def test_a_process_that_is_ended_from_outside_is_reported_in_a_sentence(
    four_outcomes: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path_factory.mktemp("site")
    (site / "sitecustomize.py").write_text(  # read by every process that is started
        "import os, sys\nif '--multiprocessing-fork' in sys.orig_argv: os._exit(9)\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), str(Path(__file__).parents[2])]))
    refused = printed_text(invoke("evaluate", four_outcomes, "--jobs", 2, status=2))
    assert refused.startswith("Error: A worker process was ended from outside")


def test_pages_are_judged_as_by_compare(tmp_path: Path) -> None:
    pages = {"a": article("x"), "b": article("x", frame="copy"), "c": article("y"), "d": article("x", changed=60)}
    pairs = [pair(page, other_page, 0) for page in pages for other_page in pages if page != other_page]
    for judged in judged_folder(write_set(tmp_path, pages, pairs)):
        files = [tmp_path / f"html/{name}.html" for name in (judged.labelled.id_a, judged.labelled.id_b)]
        urls = ["--new-url", judged.a.page.url, "--kept-url", judged.b.page.url]
        result = invoke("compare", *files, *urls, *BIGRAMS, status=0 if judged.forward.is_duplicate else 1)
        verdict, rule = result.stdout.splitlines()[-1].split(": ")
        assert (verdict == "duplicate", rule) == (judged.forward.is_duplicate, judged.forward.rule)


SITES = "Tea House", "Rooms"


def headless(*, copied: int) -> dict[str, str]:
    """Return pages of a site with one of its two names in every title and without headings; the first ones occur twice.

    Copies have the other name: they are duplicates where the site is known.
    """
    pages = {f"{number}": article(number, count=60) for number in range(MIN_PAGES)}
    pages |= {f"{number}c": article(number, count=60, frame="copy") for number in range(copied)}
    return {
        name: re.sub("<h1>.*</h1>", "", body).replace("</title>", f" | {SITES[(int(name[0]) + len(name)) % 2]}</title>")
        for name, body in pages.items()
    }


def test_pages_are_judged_with_what_is_learned_about_their_site_from_all_pages(tmp_path: Path) -> None:
    pages = headless(copied=1)
    apart = [pair("1", f"{number}", 0) for number in range(2, MIN_PAGES)]
    (alone,) = judged_folder(write_set(tmp_path / "few", pages, [pair("0c", "0", 1)]))
    among, *_ = judged_folder(write_set(tmp_path / "many", pages, [pair("0c", "0", 1), *apart]))
    assert (alone.is_duplicate, among.is_duplicate) == (False, True)


def signed_page(name: str, features: int = 100, flipped: int = 0) -> SignedPage:
    """Return a page with the first *features* of a text, and with *flipped* bits of its signature."""
    blocks = b"".join([block(number, Trait.MAIN) for number in range(1, features)])
    fields: dict[str, Any] = {"digest": name.encode(), "chars": 1000, "signature": (1 << flipped) - 1, "blocks": blocks}
    return SignedPage(name, f"http://a.org/{name}", "", features=features, **fields)


def judged_pair(a: SignedPage, b: SignedPage) -> PairResult:
    """Return the decision of the rules without knowledge of any site."""

    def ask(new: SignedPage, kept: SignedPage) -> DirectionResult:
        return decide_direction(new, kept, CONFIG, Sites(), SimHash(CONFIG.max_distance))

    documents = SignedDocument(a, a.key), SignedDocument(b, b.key)
    return PairResult("set", LabelledPair(a.key, b.key, 1), *documents, ask(a, b), ask(b, a))


def test_either_page_of_a_pair_may_be_the_dropped_one_and_the_better_covered_direction_is_shown() -> None:
    for features, flipped in [(80, 0), (50, 20)]:
        excerpt, whole = signed_page("excerpt", features), signed_page("whole", flipped=flipped)
        for a, b in ((excerpt, whole), (whole, excerpt)):
            result = judged_pair(a, b)
            drops = (result.forward.is_duplicate, result.backward.is_duplicate)
            assert drops == (not flipped and a is excerpt, not flipped and b is excerpt)
            assert result.deciding_direction.pair.new is excerpt


# Figures


def test_intervals_are_those_of_wilson() -> None:
    """Newcombe, "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17 (1998), table I."""
    for hits, pairs_in_all, low, high in [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ]:
        for share, interval in (
            (Share(hits, pairs_in_all), (low, high)),
            (Share(pairs_in_all - hits, pairs_in_all), (1 - high, 1 - low)),
        ):
            assert share.interval == pytest.approx(interval, abs=5e-5)
            assert 0 <= share.interval[0] <= (share.value or 0) <= share.interval[1] <= 1


def test_without_pairs_there_is_no_share() -> None:
    assert Share(0, 0).value is None
    assert Share(0, 0).interval == (0, 1)


def test_grey_pairs_are_not_counted(tmp_path: Path) -> None:
    write_set(tmp_path, copies(1), [pair("0", "0c", "grey")])
    result = evaluated(tmp_path, "--errors", 5)  # no labelled pair is no error
    assert rows(result)["all"] == ["0", "0", "0", "0", "–", "–"]
    assert "Pairs with a wrong decision: 0" in result.stdout


# evaluate


def test_the_table_has_a_row_for_each_set_and_category_and_for_all_pairs(tmp_path: Path) -> None:
    pages = copies(3)
    write_set(tmp_path, pages, [pair("0", "0c", 1), pair("0", "1", 0)], name="one.")
    further_pairs = [pair("1", "1c", 0, category="odd"), pair("1", "2", 1, category="even")]
    write_set(tmp_path, pages, [*further_pairs, pair("2", "2c", 1)], name="two.")
    table = rows(evaluated(tmp_path))
    assert {name: " ".join(cells[:4]) for name, cells in table.items()} == {
        "one": "1 0 0 1",
        "two": "1 1 1 0",
        "even": "0 1 0 0",
        "odd": "0 0 1 0",
        "all": "2 1 1 1",
    }
    assert table["two"][4:] == ["0.500 (0.095–0.905)", "0.500 (0.095–0.905)"]
    assert table["odd"][4:] == ["0.000 (0.000–0.793)", "–"]


def test_a_set_without_categories_has_few_rows_and_the_tokenizer_of_a_new_index_is_named(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "mine", copies(1), [pair("0", "0c", 1)])
    result = invoke("evaluate", folder, "--jobs", 1)
    assert set(rows(result)) == {"mine", "all"}
    assert "Tokenizer: rjieba" in printed_text(result)
    (evaluation,) = report(folder, "-s", "DEDUP_TOKENIZER=auto")["evaluation"]
    assert evaluation["settings"]["DEDUP_TOKENIZER"] == "rjieba"


def test_settings_are_printed_without_a_password(four_outcomes: Path) -> None:
    lines = report(four_outcomes, "-s", "DEDUP_INDEX=redis://user:secret@a.org/0")
    assert lines["evaluation"][0]["settings"]["DEDUP_INDEX"] == "redis://a.org/0"


def test_wrong_pairs_are_listed_with_false_duplicates_first(four_outcomes: Path) -> None:
    output = evaluated(four_outcomes, "--errors", 2).stdout
    header, *blocks = output[output.index("Pairs with a wrong") :].strip().split("\n\n")
    assert header == "Pairs with a wrong decision: 3, of which 2 are shown:"
    false, missed = (block.splitlines() for block in blocks)
    assert false[0].startswith("false, label 0: alike, distance 0")
    assert [line.split()[0] for line in false[1:]] == ["http://a.org/3", "http://a.org/3c"]
    opening = " ".join(words(3)[:3]).capitalize()
    assert all(opening in line or "Article 3" in line for line in false[1:])
    assert missed[0].startswith("missed, label 1: ")
    assert [line.split()[0] for line in missed[1:]] == ["http://a.org/0", "http://a.org/1"]


def test_a_wrong_pair_with_a_page_beyond_limits_is_explained(tmp_path: Path) -> None:
    pages = {"deep": "<div>" * 1000, "page": article("x")}
    write_set(tmp_path, pages, [pair("deep", "page", 1)])
    assert "missed, label 1: nested too deep\n" in evaluated(tmp_path, "--errors", 1).stdout
    (error,) = report(tmp_path, "--errors", 1)["wrong_pair"]
    assert (error["rule"], error["distance"]) == ("nested too deep", None)


def test_json_has_the_figures_of_the_tables(four_outcomes: Path) -> None:
    printed = report(four_outcomes, "--errors", 10)
    rows = printed["evaluation_counts"]
    assert [(row["set"], row["part"]) for row in rows] == [(four_outcomes.name, ""), ("", "")]
    whole = rows[1]["counts"]
    assert [whole[name] for name in ("found", "missed", "false", "apart")] == [3, 2, 1, 4]
    assert whole["precision"]["value"] == 0.75
    assert (whole["recall"]["low"], whole["recall"]["high"]) == Share(3, 5).interval
    assert [row["label"] for row in printed["wrong_pair"]] == [0, 1, 1]
    assert printed["wrong_pair"][0]["a"]["id"] == "3"


# Schemes


def test_pages_are_judged_by_the_scheme_of_the_settings(tmp_path: Path) -> None:
    pages = {
        "0": article(0),
        "0c": article(0, frame="copy"),
        "1": article(1, count=320),
        "1e": article(1, count=320, shortened=1),
    }
    untitled = {
        name: page.replace("title>", "b>").replace("h1>", "p>") for name, page in pages.items()
    }  # which find pages, too
    write_set(tmp_path, untitled, [pair("0", "0c", 1), pair("1", "1e", 1)])

    def count_pairs(scheme: str) -> int:
        lines = report(tmp_path, "-s", f"DEDUP_SCHEME={scheme}")
        assert lines["evaluation"][0]["settings"]["DEDUP_SCHEME"] == scheme
        return int(counts_of(lines)["found"])

    assert count_pairs("minhash") == 2
    assert count_pairs("simhash") == 1  # 11 bits
    assert count_pairs("minhash threshold=1") == 1


def test_a_pair_that_a_crawl_would_not_find_is_missed_and_reported_so(tmp_path: Path) -> None:
    more = prose(0) + "\n" + "".join(sentences(1, 3))
    write_set(tmp_path, {"new": html(prose(0)).decode(), "kept": html(more).decode()}, [pair("new", "kept", 1)])
    only_equal = report(tmp_path, "--errors", 5, "-s", "DEDUP_SCHEME=minhash rows=128")  # one key of all numbers
    assert counts_of(only_equal)["missed"] == 1
    assert [pair["rule"] for pair in only_equal["wrong_pair"]] == ["not found in the index"]
    alike = report(tmp_path, "--errors", 5, "-s", "DEDUP_SCHEME=minhash")
    assert counts_of(alike)["found"] == 1
    assert "wrong_pair" not in alike


# The document


def test_the_example_of_the_document_works(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs/reference/evaluation.md").read_text(encoding="utf-8")
    documents, pairs = (block.split("```")[0] for block in text.split("```json\n")[1:3])
    (tmp_path / "docs.jsonl").write_text(documents)
    (tmp_path / "pairs.jsonl").write_text(pairs)
    (tmp_path / "html").mkdir()
    for name, body in {"1": article(1), "1-print": article(1, frame="print"), "2": article(2)}.items():
        (tmp_path / f"html/{name}.html").write_text(body)
    assert rows(evaluated(tmp_path))["all"][:4] == ["1", "0", "0", "1"]


# Sites


def page(number: int, *, url: str = "http://h/{}", scope: str = "") -> SignedPage:
    address = url.format(number)
    return SignedPage(key=address, url=address, scope=scope, title=f"Story {number} | Tea House")


def test_sites_are_distinguished_except_by_www_case_scheme_or_its_port() -> None:
    sites = learn_sites(page(number) for number in range(MIN_PAGES))
    for url in ("http://h/other", "https://WWW.H/other?x", "http://www.h/", "http://h:80/", "https://h:443/"):
        assert sites.profile_of(page(1, url=url)).titles == {hash_part("teahouse")}
    for url in ("http://h:8080/", "http://i/", "http://x.h/"):
        assert sites.profile_of(page(1, url=url)) is UNKNOWN_SITE


def test_scopes_are_distinguished() -> None:
    pages = [page(number, scope="one") for number in range(MIN_PAGES)]
    sites = learn_sites([*pages, *(page(number, scope="other") for number in range(MIN_PAGES - 1))])
    assert sites.profile_of(page(1, scope="one")).is_known
    assert sites.profile_of(page(1, scope="other")) is UNKNOWN_SITE
    assert sites.profile_of(page(1)) is UNKNOWN_SITE


def test_pages_without_a_host_belong_to_no_site() -> None:
    for url in ["", "notes.html", "/path", "http://[broken", "mailto:a@b"]:
        sites = learn_sites(page(number, url=url) for number in range(MIN_PAGES))
        assert sites.profile_of(page(1, url=url)) is UNKNOWN_SITE
