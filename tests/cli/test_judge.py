import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from crawler_dedup import Config, Deduplicator
from crawler_dedup.cli.evaluate import format_share
from crawler_dedup.evaluation.answers import Answers
from crawler_dedup.evaluation.labelled import Share, read_body, read_folder
from crawler_dedup.inspection.journals import Selection
from crawler_dedup.journal.entry import DUPLICATES
from tests.support.commandline import FIRST, SECOND, check_pages, entries_of, invoke, json_lines, printed_text, write
from tests.support.crawling import Site, article
from tests.support.droppedpages import COPIES, KEPT, explained

pytestmark = pytest.mark.usefixtures("outside")
BIGRAMS = ("-s", "DEDUP_TOKENIZER=bigrams")


def judge(dropped: Path, typed: str, *options: object, status: int = 0) -> Result:
    return invoke("judge", dropped, *options, typed=typed, status=status)


def answers(folder: Path) -> dict[str, int]:
    lines = (folder / "answers.jsonl").read_bytes().splitlines()
    return {record["entry"]["url"]: record["label"] for record in map(json.loads, lines)}


def precision_line(right: int, answered: int) -> str:
    share = format_share(Share(right, answered))
    return (
        f"Precision so far, with its 95 % confidence interval: {share}, from {answered} answer{'s' * (answered != 1)}."
    )


def test_answers_are_recorded_and_their_precision_is_printed_with_its_interval(dropped: Path) -> None:
    result = judge(dropped, "y\nn\ny\ny\ny\ny\n")
    assert list(answers(dropped / "judged").values()) == [1, 0, 1, 1, 1, 1]
    assert len(re.findall(r"`crawler-dedup separate http\S+ http\S+` \(the page", result.stdout)) == 1
    precision_lines = [line for line in result.stdout.splitlines() if "Precision" in line]
    expected = [precision_line(right, answered) for right, answered in ((1, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6))]
    assert [line[line.index("Precision") :] for line in precision_lines] == expected
    low, high = Share(5, 6).interval
    assert f"0.833 ({low:.3f}–{high:.3f})" in precision_lines[-1]


def test_skipped_drops_are_asked_again_and_answered_ones_are_not(dropped: Path) -> None:
    judge(dropped, "y\ns\nn\nq\n")
    assert answers(dropped / "judged") == {COPIES[0]: 1, COPIES[2]: 0}
    second_answers = judge(dropped, "n\ny\ny\ny\n")
    assert explained(second_answers) == [COPIES[1], *COPIES[3:]]
    assert precision_line(4, 6) in second_answers.stdout
    assert "No selected drop is left to judge" in judge(dropped, "").stdout


@pytest.mark.parametrize("end", ["", "q\n", "y", "maybe\nY \nq\n"])
def test_the_end_of_the_input_ends_the_questions(dropped: Path, end: str) -> None:
    result = judge(dropped, f"n\n{end}")
    assert f"answers in {dropped / 'judged'}" in printed_text(result).replace("1 answer ", "1 answers ")
    assert answers(dropped / "judged")[COPIES[0]] == 0
    assert COPIES[2] not in answers(dropped / "judged")


def test_the_precision_is_that_of_the_selected_drops(mixed: Path) -> None:
    judge(mixed, "n\n", "--host", "b.org")
    result = judge(mixed, "y\n", "--host", "b.org:8080")
    assert precision_line(1, 1) in result.stdout
    assert precision_line(2, 3) in judge(mixed, "y\n", "--since", "2026-01-01", "--sample", 1).stdout
    assert Answers(mixed / "judged").precision(Selection(DUPLICATES, rule="same bytes")) == Share(0, 1)


def test_as_many_questions_are_asked_as_the_sample_is_to_have(dropped: Path) -> None:
    drawn = [
        explained(judge(dropped, "", "--sample", 6, "--seed", 5)),
        explained(judge(dropped, "s\n" * 6, "--sample", 2, "--seed", 5)),
    ]
    assert [len(sample) for sample in drawn] == [1, 2]
    assert "1 of 2" in judge(dropped, "", "--sample", 2).stdout


def test_a_pair_that_was_dropped_twice_is_judged_once(dropped: Path) -> None:
    write(dropped / SECOND, entries_of(dropped / FIRST))
    judge(dropped, "y\n" * 20)
    assert "No selected drop is left to judge" in judge(dropped, "").stdout
    assert Answers(dropped / "judged").precision(Selection(DUPLICATES)).total == 6


def test_answers_without_texts_are_recorded_and_make_no_pairs(dropped: Path, tmp_path: Path) -> None:
    result = judge(dropped, "y\ny\n", "--output", tmp_path / "answers")
    assert "it needs what a crawl has stored" in result.stdout
    assert [path.name for path in (tmp_path / "answers").iterdir()] == ["answers.jsonl"]


def test_a_damaged_answer_is_reported_in_a_sentence(dropped: Path) -> None:
    judge(dropped, "y\nq\n")
    with (dropped / "judged" / "answers.jsonl").open("ab") as file:
        file.write(b'{"half')
    assert "line 2" in judge(dropped, "", status=2).stderr


STORED = {
    KEPT: article(1, count=300),
    COPIES[0]: article(1, count=300, shortened=1),
    COPIES[1]: article(1, count=300, frame="f"),
}


def counts_of(lines: list[dict[str, Any]]) -> dict[str, int]:
    """Return the counts of all pairs among the lines that `evaluate --json` prints."""
    (counts,) = (line["counts"] for line in lines if line["type"] == "evaluation_counts" and not line["set"])
    return {name: counts[name] for name in ("found", "missed", "false", "apart")}


def check_folder(folder: Path, pairs: dict[tuple[str, str], int]) -> None:
    """Hold a folder against *pairs* (addresses → label), and let the commands read it."""
    (labelled_set,) = read_folder(folder)
    address = {name: document.url for name, document in labelled_set.documents.items()}
    assert {(address[pair.id_a], address[pair.id_b]): pair.label for pair in labelled_set.pairs} == pairs
    for document in labelled_set.documents.values():
        body = read_body(folder, document)
        with Deduplicator.open(folder / "index", Config(tokenizer="bigrams")) as deduplicator:
            assert deduplicator.sign(document.url or "", body).features > 200
    counts = counts_of(json_lines("evaluate", folder, "--json", "--jobs", 1, *BIGRAMS))
    assert (counts["found"], counts["false"]) == (sum(pairs.values()), len(pairs) - sum(pairs.values()))


def test_answers_become_a_labelled_folder_with_stored_texts_and_do_not_contain_them(tmp_path: Path) -> None:
    check_pages(tmp_path / "index", STORED, DEDUP_STORE_TEXT=True, DEDUP_MAX_DISTANCE=7)
    result = judge(tmp_path / "index", "y\nn\n")
    assert "it needs what a crawl has stored" not in result.stdout
    assert "equal line" in result.stdout
    check_folder(tmp_path / "index" / "judged", {(COPIES[0], KEPT): 1, (COPIES[1], KEPT): 0})
    lines = (tmp_path / "index" / "judged" / "answers.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["entry"]["text"] for line in lines] == ["", ""]


def test_answers_become_a_labelled_folder_with_fetched_pages(live: Site, tmp_path: Path) -> None:
    del live.pages["/gone"]
    result = judge(tmp_path / "index", "y\ny\n", "--fetch")
    assert "the answer has status 404" in result.stdout
    assert "the kept page lacks: not compared (in navigation, a footer or the like): /copy" in printed_text(result)
    check_folder(tmp_path / "index" / "judged", {(f"{live.url}/copy", f"{live.url}/kept"): 1})
    assert len(answers(tmp_path / "index" / "judged")) == 2


def test_the_pages_of_earlier_answers_can_be_fetched_later(live: Site, tmp_path: Path) -> None:
    folder = tmp_path / "index" / "judged"
    judge(tmp_path / "index", "q\n", "--fetch")
    assert sorted(live.paths()) == ["/copy", "/kept"]  # only those of the question that was asked
    result = judge(tmp_path / "index", "y\nn\n")
    assert "2 answers in" in printed_text(result)
    assert "0 with both pages. `crawler-dedup judge --fetch` fetches" in printed_text(result)
    assert "judge --fetch` fetches and saves" in printed_text(invoke("evaluate", folder, status=2))
    assert "2 with both pages. `crawler-dedup evaluate" in printed_text(judge(tmp_path / "index", "", "--fetch"))
    check_folder(folder, {(f"{live.url}/copy", f"{live.url}/kept"): 1, (f"{live.url}/gone", f"{live.url}/kept"): 0})
    fetched = len(live.paths())
    judge(tmp_path / "index", "", "--fetch")
    assert len(live.paths()) == fetched, "all of them are there"


def test_what_was_judged_in_a_project_can_be_evaluated_there(tmp_path: Path) -> None:
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = judged_settings\n")
    (tmp_path / "judged_settings.py").write_text("DEDUP_TOKENIZER = 'bigrams'\n")
    check_pages(tmp_path / ".scrapy" / "dedup", STORED, DEDUP_STORE_TEXT=True, DEDUP_MAX_DISTANCE=7)
    assert "2 answers in" in printed_text(invoke("judge", "--last", typed="y\nn\n"))
    counts = counts_of(json_lines("evaluate", "--json", "--jobs", 1))
    assert counts == {"found": 1, "missed": 0, "false": 1, "apart": 0}


def test_without_answers_there_is_nothing_to_evaluate(tmp_path: Path) -> None:
    assert "`crawler-dedup judge` writes such a folder" in printed_text(invoke("evaluate", tmp_path / "none", status=2))
