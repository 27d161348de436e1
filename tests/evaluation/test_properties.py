"""``python -m benchmarks.evaluate`` counts the labelled pairs also by properties that the command does not read."""

from pathlib import Path

from tests.support import processes
from tests.support.crawling import article
from tests.support.labelled import pair, write_set


def test_pairs_are_counted_by_kind_and_length_by_site_and_grey_ones_by_resemblance(tmp_path: Path) -> None:
    notice = (
        "<title>Notice</title><h1>Notice</h1><p>The house by the river opens on Tuesday at noon</p><a href=/on>on</a>"
    )
    pages = {"1": article("x"), "2": article("x", frame="copy"), "3": article("y"), "4": article("x", frame="print")}
    content, listed = {"kind_a": "page", "kind_b": "page"}, {"kind_a": "page", "kind_b": "search"}
    pairs = [
        pair("1", "2", 1, **content, min_chars=249, source="a"),
        pair("1", "3", 1, **content, min_chars=250, source="a"),
        pair("2", "4", 0, **listed, min_chars=250, source="b"),
        pair("5", "6", 1),
        pair("1", "4", "grey", **content, j_sub=0.35),
        pair("3", "4", "grey", **content, j_sub=0.8),
        pair("2", "3", "grey", **content),
    ]
    (tmp_path / "set" / "sites").mkdir(parents=True)
    folder = write_set(tmp_path / "set", pages | {"5": notice, "6": f"{notice}<!-- -->"}, pairs)
    printed = processes.run(["-m", "benchmarks.evaluate", str(folder), "-s", "DEDUP_TOKENIZER=bigrams"]).stdout
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed.splitlines() if "│" in line]
    counts = {name: [int(count) for count in figures if count.isdigit()] for name, *figures in rows}
    assert {name: counts[name] for name in list(counts)[: list(counts).index("0")]} == {
        "set": [2, 1, 1, 0],
        "all": [2, 1, 1, 0],
        "page–page": [1, 1, 0, 0],
        "lists": [0, 0, 1, 0],
        "short (under 250 characters)": [1, 0, 0, 0],
        "long": [0, 1, 1, 0],
        "thin pages": [1, 0, 0, 0],
        "nothing learned": [2, 1, 1, 0],
        ".3–.4": [1, 1],
        ".8 and more": [1, 0],
        "not given": [1, 0],
    }
    assert "Mean over sites: precision 0.667 (of 3), recall 0.750 (of 2). Tokenizer: bigrams" in printed
