"""Schemes side by side: held against each pair by hand, against ``evaluate`` with one scheme, and as a command."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from crawler_dedup import Config
from crawler_dedup.cli import app
from crawler_dedup.evaluation import scheme_comparison
from crawler_dedup.evaluation.counts import Counts
from crawler_dedup.evaluation.documents import DocumentKey, SignedDocument, sign_documents
from crawler_dedup.evaluation.edits import edited_sets, is_chinese
from crawler_dedup.evaluation.labelled import LabelledPair, read_folder
from crawler_dedup.evaluation.pairs import NOTHING_LEARNED, THIN_PAGES
from crawler_dedup.evaluation.scheme_comparison import Detector, SchemeDetector, SchemeResult, SetCounts
from crawler_dedup.signing.schemes import NAMES, Scheme, ValueScheme, scheme_of
from crawler_dedup.signing.schemes.shingling import SUPERSHINGLES, Shingling
from crawler_dedup.signing.text import Text
from tests.support.commandline import lines_by_type
from tests.support.crawling import article
from tests.support.labelled import pair, write_lines, write_set
from tests.support.prose import html, prose, sentences, text_of

CONFIG = Config(tokenizer="bigrams")
BIGRAMS = ("-s", "DEDUP_TOKENIZER=bigrams")
COMPARED = ("simhash", "exact", "minhash", "shingling lookup=minima", "pinyin")


# The folder


def chinese_page(seed: int, *, left_out: int = 0, frame: str = "") -> str:
    made_sentences = sentences(seed, 30, chinese=True)
    return html("\n".join("".join(made_sentences[at : at + 4]) for at in range(left_out, 30, 4)), frame).decode()


def links(count: int) -> str:
    return (
        "<ul>"
        + "".join(f'<li><a href="/{number}">story {number} of the list</a></li>' for number in range(count))
        + "</ul>"
    )


PAGES = {
    **{f"{number}": article(number) for number in range(3)},
    "0 copy": article(0, frame="copy"),
    "1 changed": article(1, changed=2),
    "2 changed": article(2, changed=40),
    "short": article("short", count=40),
    "short changed": article("short", count=40, changed=2),
    "empty": "<html><body></body></html>",
    "deep": "<div>" * 1000,
    "list": f"<title>List</title>{links(20)}",
    "list copy": f"<title>List</title><nav>copy</nav>{links(20)}",
    "tea": chinese_page(0),
    "tea copy": chinese_page(0, frame="copy"),
    "tea excerpt": chinese_page(0, left_out=2),
    "train": chinese_page(1),
}
KINDS = {"kind_a": "page", "kind_b": "page"}
ENGLISH = [
    pair("0", "0 copy", 1, **KINDS, min_chars=900),
    pair("1 changed", "1", 1, **KINDS, min_chars=900),
    pair("2", "2 changed", 0, **KINDS, min_chars=900),
    pair("0", "1", 0, **KINDS, min_chars=900),
    pair("short", "short changed", 1, **KINDS, min_chars=240),
    pair("list", "list copy", 1, kind_a="archive", kind_b="archive"),
    pair("empty", "deep", 1),
    pair("empty", "0", 0),
    pair("0", "2", "grey"),
]
CHINESE = [
    pair("tea", "tea copy", 1),
    pair("tea", "tea excerpt", 1),
    pair("train", "tea", 0),
    pair("0", "tea", 0),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labelled")
    write_set(folder, PAGES, ENGLISH, name="english.")
    return write_set(folder, PAGES, CHINESE, name="chinese.")


# What is measured


def quiet(_: str, __: int | None) -> Callable[[int], None]:
    return lambda _: None


def compare(
    folder: Path, names: Sequence[str], *, jobs: int = 1, lookups: int = 0, config: Config = CONFIG, **options: Any
) -> list[SchemeResult]:
    return list(
        scheme_comparison.compare_schemes(folder, read_folder(folder), names, config, jobs, lookups, quiet, **options)
    )


@pytest.fixture(scope="module")
def results(folder: Path) -> dict[str, SchemeResult]:
    rows = compare(folder, COMPARED)
    assert [row.name for row in rows] == [*COMPARED]
    return {row.name: row for row in rows}


@pytest.fixture(scope="module", params=COMPARED)
def spec(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def result(results: Mapping[str, SchemeResult], spec: str) -> SchemeResult:
    return results[spec]


# By hand


@pytest.fixture(scope="module")
def documents(folder: Path) -> dict[DocumentKey, SignedDocument]:
    return sign_documents(folder, read_folder(folder), CONFIG, 1, lambda _: None)


def is_called(scheme: Scheme, new: str, kept: str) -> bool:
    """Return whether *new* is dropped while *kept* is kept."""
    if not text_of(new).units or not text_of(kept).units:
        return False
    ours, theirs = (scheme.sign(text_of(text)) for text in (new, kept))
    agreement = scheme.compare(ours, theirs)
    if agreement is None or (agreement.distance is not None and agreement.distance > CONFIG.max_distance):
        return False
    needed = scheme.least_hits(ours.value) if isinstance(scheme, ValueScheme) and ours.value else 1
    return len(set(scheme.probes(ours)) & set(scheme.keys(theirs))) >= needed


def outcome(label: int | str, called: bool) -> Counts:
    if label == "grey":
        return Counts()
    if label == 1:
        return Counts(found=1) if called else Counts(missed=1)
    return Counts(false=1) if called else Counts(apart=1)


Belongs = Callable[[str, LabelledPair, str, str], bool]
PARTS: dict[str, Belongs] = {
    "english": lambda name, *_: name == "english",
    "chinese": lambda name, *_: name == "chinese",
    "all": lambda *_: True,
    "page–page": lambda _, pair, *__: pair.kind_a == pair.kind_b == "page",
    "lists": lambda _, pair, *__: "archive" in (pair.kind_a, pair.kind_b),
    "short (under 250 characters)": lambda _, pair, *__: pair.min_chars == 240,
    "long": lambda _, pair, *__: pair.min_chars == 900,
    "Chinese": lambda _, __, *texts: all(map(is_chinese, texts)),
}


def labelled(
    folder: Path, documents: Mapping[DocumentKey, SignedDocument]
) -> Iterator[tuple[str, LabelledPair, str, str]]:
    for labelled_set in read_folder(folder):
        for labelled_pair in labelled_set.pairs:
            yield (
                labelled_set.name,
                labelled_pair,
                documents[labelled_set.name, labelled_pair.id_a].text,
                documents[labelled_set.name, labelled_pair.id_b].text,
            )


def test_the_outcomes_of_a_scheme_alone_equal_those_counted_by_hand(
    folder: Path, documents: dict[DocumentKey, SignedDocument], result: SchemeResult, spec: str
) -> None:
    scheme = scheme_of(spec, CONFIG)
    expected = dict.fromkeys(PARTS, Counts())
    for name, labelled_pair, a, b in labelled(folder, documents):
        called = is_called(scheme, a, b) or is_called(scheme, b, a)
        for part, belongs in PARTS.items():
            if belongs(name, labelled_pair, a, b):
                expected[part] += outcome(labelled_pair.label, called)
    alone = {row.name: row.alone for row in result.sets if row.with_rules is not None}
    assert alone == expected
    assert sorted(alone, key=list(alone).index)[:3] == ["chinese", "english", "all"]


def test_only_the_edited_text_of_a_pair_is_looked_up(
    documents: dict[DocumentKey, SignedDocument], result: SchemeResult, spec: str
) -> None:
    scheme = scheme_of(spec, CONFIG)
    expected = {}
    for name, pairs in edited_sets(document.text for document in documents.values()):
        counts = (outcome(pair.label, is_called(scheme, pair.new, pair.kept)) for pair in pairs)
        expected[name] = sum(counts, Counts())
    assert {row.name: row.alone for row in result.sets if row.with_rules is None} == expected
    assert expected["excerpt of 60 %"].apart + expected["excerpt of 60 %"].false > 0


def test_schemes_differ_in_which_pairs_they_judge_correctly(results: Mapping[str, SchemeResult]) -> None:
    """If the schemes did not differ, the tests above would prove little."""
    counts = {name: {row.name: row.alone for row in result.sets} for name, result in results.items()}
    assert counts["exact"]["english"].missed > counts["simhash"]["english"].missed
    assert counts["exact"]["homophones, 20 %"].found == 0 < counts["pinyin"]["homophones, 20 %"].found
    assert len({tuple(count.values()) for count in counts.values()}) == len(counts)


def test_the_outcomes_with_the_rules_equal_those_of_evaluate(folder: Path, result: SchemeResult, spec: str) -> None:
    printed = cli("evaluate", folder, "--jobs", 1, *BIGRAMS, "-s", f"DEDUP_SCHEME={spec}", "--json")
    evaluated = {
        line["part"] or line["set"] or "all": counts_in(line["counts"])
        for line in lines_by_type(printed)["evaluation_counts"]
    }
    ruled = {row.name: row.with_rules for row in result.sets if row.with_rules is not None and row.name != "Chinese"}
    assert ruled == {name: counts for name, counts in evaluated.items() if name not in (THIN_PAGES, NOTHING_LEARNED)}


def test_costs_are_means_of_all_texts_with_words(
    documents: dict[DocumentKey, SignedDocument], result: SchemeResult, spec: str
) -> None:
    texts = {document.text for document in documents.values()}
    for _, pairs in edited_sets(texts):
        texts |= {text for pair in pairs for text in (pair.new, pair.kept)}
    sizes = [8 + len(scheme_of(spec, CONFIG).sign(text_of(text)).value) for text in texts if text_of(text).units]
    assert len(sizes) < len(texts)
    assert result.signature_bytes == pytest.approx(sum(sizes) / len(sizes))
    assert result.sign_micros > 0
    assert result.lookup_micros is None


def test_every_progress_bar_reaches_its_end(folder: Path) -> None:
    done: dict[str, list[int]] = {}

    def start(title: str, total: int | None) -> Callable[[int], None]:
        assert total is not None
        done[title] = [total, 0]

        def advance(number: int) -> None:
            done[title][1] += number

        return advance

    sets = read_folder(folder)
    list(scheme_comparison.compare_schemes(folder, sets, ["exact"], CONFIG, 1, 1000, start))
    assert list(done) == ["reading", "signing: exact", "looking up: exact"]
    assert all(total == reached for total, reached in done.values())
    assert done["looking up: exact"] == [2, 2]


# Detectors of one's own


class ByWords:
    """Texts are alike that share four fifths of their words; of the new one only."""

    def __init__(self, share: float) -> None:
        self.share = share

    def sign(self, text: Text) -> frozenset[str]:
        return frozenset(text.units)

    def is_duplicate(self, new: Any, kept: Any) -> bool:
        return len(new & kept) >= self.share * len(new)

    def size_of(self, signature: Any) -> int:
        return 10 * len(signature)


def by_words(name: str, config: Config) -> Detector:
    assert config == CONFIG
    return ByWords(float(name))


def by_words_or_scheme(name: str, config: Config) -> Detector:
    return by_words(name, config) if name[0] == "0" else SchemeDetector(name, config)


def costless(rows: Sequence[SchemeResult]) -> list[tuple[str, Sequence[SetCounts], float]]:
    return [(row.name, row.sets, row.signature_bytes) for row in rows]


def test_another_comparison_of_texts_can_be_evaluated_beside_the_schemes(
    folder: Path, documents: dict[DocumentKey, SignedDocument]
) -> None:
    strict, loose = compare(folder, ["1", "0.8"], make=by_words, lookups=500)
    assert strict.lookup_micros is loose.lookup_micros is None
    for row_of_detector, share in ((strict, 1), (loose, 0.8)):
        assert all(row.with_rules is None for row in row_of_detector.sets)
        ours = ByWords(share)
        expected = Counts()
        for _, labelled_pair, a, b in labelled(folder, documents):
            new, kept = (ours.sign(text_of(text)) for text in (a, b))
            called = bool(new and kept) and (ours.is_duplicate(new, kept) or ours.is_duplicate(kept, new))
            expected += outcome(labelled_pair.label, called)
        assert next(row.alone for row in row_of_detector.sets if row.name == "all") == expected
        assert row_of_detector.sign_micros > 0
    excerpts = [
        next(row.alone for row in row_of_detector.sets if row.name == "excerpt of 60 %")
        for row_of_detector in (strict, loose)
    ]
    assert [excerpt.missed > 0 for excerpt in excerpts] == [
        True,
        False,
    ]  # words are cut where the excerpt begins and ends


def test_a_comparison_that_calls_everything_a_duplicate_is_wrong_about_all_other_pairs(folder: Path) -> None:
    (everything,) = compare(folder, ["0"], make=by_words)
    for row in everything.sets:
        if row.name.startswith(("Traditional", "excerpt")):
            assert row.alone.found == row.alone.false > 0
            assert (row.alone.missed, row.alone.apart) == (0, 0)


def test_several_processes_give_the_results_of_a_single_one(folder: Path, results: Mapping[str, SchemeResult]) -> None:
    alone = [*compare(folder, ["0.8"], make=by_words), results["minhash"]]
    together = compare(folder, ["0.8", "minhash"], jobs=2, lookups=500, make=by_words_or_scheme)
    assert costless(together) == costless(alone)
    assert [(row.lookup_micros or 0) > 0 for row in together] == [False, True]


# Look-ups


def test_look_ups_are_timed_if_requested(folder: Path) -> None:
    for row in compare(folder, ["simhash", "shingling"], lookups=500):
        assert row.lookup_micros is not None
        assert row.lookup_micros > 0


@pytest.mark.parametrize("lookups", [1, 499, 501])
def test_look_ups_are_timed_in_an_index_of_any_size(folder: Path, lookups: int) -> None:
    (row,) = compare(folder, ["exact"], lookups=lookups)
    assert row.lookup_micros is not None


@pytest.mark.parametrize("text", ["<p>too short</p>" * 30, ""], ids=["short lines", "no text"])
def test_no_look_ups_are_timed_if_no_index_can_be_made_of_the_pages(tmp_path: Path, text: str) -> None:
    pages = {name: f"<html><body>{text}<nav>{name}</nav></body></html>" for name in "ab"}
    write_set(tmp_path, pages, [pair("a", "b", 1)])
    (row,) = compare(tmp_path, ["exact"], lookups=500)
    assert row.lookup_micros is None


# Met in the index

MET = "minhash rows=128"  # one key of all numbers: only equal texts meet
MORE = prose(0) + "\n" + "".join(sentences(1, 3))


def test_a_pair_that_agrees_but_is_not_found_is_not_called_a_duplicate() -> None:
    scheme, detector = scheme_of(MET, CONFIG), SchemeDetector(MET, CONFIG)
    new, kept = text_of(prose(0)), text_of(MORE)
    signed = [scheme.sign(text) for text in (new, kept)]
    assert scheme.compare(*signed) is not None
    assert not detector.is_duplicate(*map(detector.sign, (new, kept)))
    assert detector.is_duplicate(detector.sign(new), detector.sign(new))
    loose = SchemeDetector("minhash", CONFIG)
    assert loose.is_duplicate(*map(loose.sign, (new, kept)))


@pytest.mark.parametrize(("needed", "called"), [(SUPERSHINGLES, True), (SUPERSHINGLES + 1, False)])
def test_a_pair_must_have_as_many_common_keys_as_the_scheme_requires(
    monkeypatch: pytest.MonkeyPatch, needed: int, called: bool
) -> None:
    monkeypatch.setattr(Shingling, "least_hits", lambda *_: needed)
    detector = SchemeDetector("shingling", CONFIG)
    signature = detector.sign(text_of(prose(0)))
    assert detector.is_duplicate(signature, signature) == called


@pytest.fixture
def nearly_alike(tmp_path: Path) -> Path:
    pages = {"new": html(prose(0)).decode(), "kept": html(MORE).decode()}
    return write_set(tmp_path, pages, [pair("new", "kept", 1)])


def test_a_pair_that_a_crawl_would_not_find_is_missed_and_reported_so(nearly_alike: Path) -> None:
    judge = ("evaluate", nearly_alike, "--jobs", 1, *BIGRAMS, "--json", "--errors", 5, "-s")
    report = lines_by_type(cli(*judge, f"DEDUP_SCHEME={MET}"))
    assert counts_in(report["evaluation_counts"][-1]["counts"]) == Counts(missed=1)
    assert [pair["rule"] for pair in report["wrong_pair"]] == ["not met in the index"]
    report = lines_by_type(cli(*judge, "DEDUP_SCHEME=minhash"))
    assert counts_in(report["evaluation_counts"][-1]["counts"]) == Counts(found=1)
    assert "wrong_pair" not in report
    (result,) = compare(nearly_alike, [MET])
    assert [(row.alone, row.with_rules) for row in result.sets if row.name == "all"] == [(Counts(missed=1),) * 2]


# The command


def cli(*arguments: object, status: int = 0) -> Result:
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(argument) for argument in arguments])
    assert isinstance(result.exception, (SystemExit, type(None))), repr(result.exception)
    assert result.exit_code == status, result.output
    return result


def printed_text(result: Result) -> str:
    return " ".join(result.output.replace("│", " ").split())


def cells(result: Result) -> list[list[str]]:
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in result.output.splitlines() if "│" in line]
    return [line for line in lines if line]


def side_by_side(folder: Path, *options: object, status: int = 0) -> Result:
    return cli("evaluate", folder, "--jobs", 1, *BIGRAMS, "--lookups", 0, *options, status=status)


@pytest.fixture(scope="module")
def everything(folder: Path) -> Result:
    return side_by_side(folder, "--scheme", "all")


def test_every_scheme_and_every_set_is_printed(everything: Result, results: Mapping[str, SchemeResult]) -> None:
    rows = cells(everything)
    names = [row.name for row in results["exact"].sets]
    assert {"english", "chinese", "all", "Chinese", "excerpt of 60 %", "Traditional", "homophones, 20 %"} < {*names}
    assert [row[0] for row in rows if row[0]] == [*NAMES]
    assert [row[1] for row in rows] == names * len(NAMES)
    at = NAMES.index("exact") * len(names)
    for printed, row in zip(rows[at:], results["exact"].sets, strict=False):
        assert printed[2:5] == [shown(figure) for figure in figures(row.alone)]
        assert printed[5:8] == (
            [""] * 3 if row.with_rules is None else [shown(figure) for figure in figures(row.with_rules)]
        )
    for number, printed in enumerate(rows):
        assert [bool(cell) for cell in printed[8:]] == [number % len(names) == 0] * 3
        assert printed[10] in ("", "–")
    assert rows[NAMES.index("simhash") * len(names)][9] == "8"


def figures(counts: Counts) -> tuple[float | None, float | None, float | None]:
    called, duplicates = counts.found + counts.false, counts.found + counts.missed
    return (
        counts.found / called if called else None,
        counts.found / duplicates if duplicates else None,
        2 * counts.found / (called + duplicates) if duplicates else None,
    )


def shown(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:.3f}"


def test_json_has_the_same_figures(folder: Path, results: Mapping[str, SchemeResult]) -> None:
    given = [word for name in COMPARED[:3] for word in ("--scheme", name)]
    lines = lines_by_type(side_by_side(folder, "--json", *given))["scheme_evaluation"]
    expected = [(name, row) for name in COMPARED[:3] for row in results[name].sets]
    for printed, (name, row) in zip(lines, expected, strict=True):
        assert (printed["scheme"], printed["set"]) == (name, row.name)
        assert printed["signature_bytes"] == results[name].signature_bytes
        assert printed["sign_micros"] > 0
        assert printed["lookup_micros"] is None
        assert counts_in(printed["alone"]) == row.alone
        assert (printed["with_rules"] is None) == (row.with_rules is None)
        assert row.with_rules is None or counts_in(printed["with_rules"]) == row.with_rules
        assert printed["alone"]["precision"]["value"] == figures(row.alone)[0]


def counts_in(printed: Mapping[str, Any]) -> Counts:
    return Counts(*(printed[name] for name in ("found", "missed", "false", "apart")))


def test_a_scheme_that_is_given_twice_is_measured_once(folder: Path) -> None:
    given = ("--scheme", "minhash", "--scheme", "exact", "--scheme", "minhash")
    lines = lines_by_type(side_by_side(folder, "--json", *given))["scheme_evaluation"]
    assert list(dict.fromkeys((line["scheme"], line["set"]) for line in lines)) == [
        (line["scheme"], line["set"]) for line in lines
    ]
    assert {line["scheme"] for line in lines} == {"minhash", "exact"}


def test_look_ups_of_the_command_are_shown(folder: Path) -> None:
    rows = cells(cli("evaluate", folder, "--jobs", 1, *BIGRAMS, "--scheme", "exact", "--lookups", 500))
    assert rows[0][0] == "exact"
    assert int(rows[0][10].replace(",", "")) >= 0


@pytest.mark.parametrize("name", ["[/b]", "[red]x", "[1]", "[bold]", "a\\"], ids=ascii)
def test_a_set_is_shown_by_its_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "0.html").write_text(article(0))
    write_lines(tmp_path / f"{name}.docs.jsonl", [{"id": "0", "html": "0.html"}])
    write_lines(tmp_path / f"{name}.pairs.jsonl", [pair("0", "0", 1)])
    assert [labelled_set.name for labelled_set in read_folder(tmp_path)] == [name]
    assert cells(side_by_side(tmp_path, "--scheme", "exact"))[0][1] == name


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("nosuch", "There is no scheme 'nosuch'; there are simhash, exact,"),
        ("", "There is no scheme ''"),
        ("minhash threshold=7", "threshold=7 is not allowed; the scheme minhash takes threshold = 0.05 to 1."),
        ("minhash tables=4", "The scheme minhash has no option tables=4"),
        ("minhash threshold", "'threshold' is no option; write option=value."),
        ("all threshold=0.5", "There is no scheme 'all'"),
    ],
)
def test_an_unknown_scheme_is_refused_before_any_work(
    folder: Path, monkeypatch: pytest.MonkeyPatch, spec: str, sentence: str
) -> None:
    if spec:
        assert sentence in printed_text(cli("evaluate", folder, "--jobs", 1, "-s", f"DEDUP_SCHEME={spec}", status=2))
    monkeypatch.setattr(scheme_comparison, "compare_schemes", None)
    result = side_by_side(folder, "--scheme", "exact", "--scheme", spec, status=2)
    assert printed_text(result).startswith("Error: ")
    assert sentence in printed_text(result)
    assert result.stdout == ""


def test_a_folder_without_pairs_is_refused(tmp_path: Path) -> None:
    assert "holds no labelled pages" in printed_text(side_by_side(tmp_path, "--scheme", "exact", status=2))
    assert "--lookups" in printed_text(cli("evaluate", tmp_path, "--scheme", "exact", "--lookups", -1, status=2))


@pytest.mark.parametrize("options", [["--plot", "plot.svg"], ["--leave-one-out"], ["--errors", "5"]], ids=" ".join)
def test_options_that_a_comparison_of_schemes_does_not_support_are_refused(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = printed_text(side_by_side(folder, "--scheme", "exact", *options, status=2))
    assert options[0] in refused


@pytest.mark.parametrize("options", ["title=2", "anchors=yes"])
def test_options_that_need_a_title_or_links_are_refused_in_a_comparison_of_schemes(folder: Path, options: str) -> None:
    refused = printed_text(side_by_side(folder, "--scheme", f"checksums {options}", status=2))
    assert f"-s DEDUP_SCHEME='checksums {options}'" in refused


# One scheme


def test_without_a_comparison_pages_are_judged_by_the_scheme_of_the_settings(tmp_path: Path) -> None:
    pages = {"0": article(0), "0c": article(0, frame="copy"), "1": article(1), "1e": article(1, changed=2)}
    untitled = {
        name: page.replace("title>", "b>").replace("h1>", "p>") for name, page in pages.items()
    }  # which find pages, too
    write_set(tmp_path, untitled, [pair("0", "0c", 1), pair("1", "1e", 1)])

    def count_pairs(scheme: str) -> int:
        result = cli("evaluate", tmp_path, "--jobs", 1, *BIGRAMS, "--json", "-s", f"DEDUP_SCHEME={scheme}")
        report = lines_by_type(result)
        assert report["evaluation"][0]["settings"]["DEDUP_SCHEME"] == scheme
        return int(report["evaluation_counts"][-1]["counts"]["found"])

    assert count_pairs("minhash") == 2
    assert count_pairs("simhash") == 1  # 8 bits
    assert count_pairs("minhash threshold=1") == 1


@pytest.mark.parametrize(
    "command", [["calibrate"], ["evaluate", "--plot", "plot.svg"], ["evaluate", "--leave-one-out"]]
)
def test_commands_about_distances_are_refused_with_other_schemes(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    name, *options = command
    result = cli(name, folder, "-s", "DEDUP_SCHEME=minhash", *options, status=2)
    assert "of simhash" in printed_text(result)
    assert result.stdout == ""
    assert not (tmp_path / "plot.svg").exists()
