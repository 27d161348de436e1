"""Does the filter decide like people who have read the pages? ``python -m benchmarks.read [FOLDER] [--show]``.

One page of each pair in ``read/judgements.jsonl`` is kept, and the other is new. The site profiles are learned from all
pages of the saved sites.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.stream import CONFIG, read_all
from crawler_dedup.evaluation.pairs import decide_direction, learn_sites, shuffle_pages
from crawler_dedup.signing.schemes import scheme_of
from tests.support.data import DATA, require_data

console = Console(width=190)


def main() -> None:
    """Decide about each pair, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    parser.add_argument("--show", action="store_true", help="print the pairs that the filter decides otherwise")
    given = parser.parse_args()
    folder: Path = given.folder
    require_data(folder)
    lines = (folder / "read/judgements.jsonl").read_text(encoding="utf-8").splitlines()
    pairs = [json.loads(line) for line in lines]
    pages = {
        page.seen.id: page.signed
        for page in read_all(sorted(site.name for site in (folder / "sites").iterdir()), folder)
    }
    sites, scheme = learn_sites(shuffle_pages(pages.values())), scheme_of(CONFIG.scheme, CONFIG)
    counts: Counter[tuple[str, bool]] = Counter()
    disagreements = Table("read", "rule", "new page, kept page", "what a person said", title="pairs decided otherwise")
    for pair in pairs:
        result = decide_direction(pages[pair["id_new"]], pages[pair["id_kept"]], CONFIG, sites, scheme)
        counts[pair["read"], result.is_duplicate] += 1
        if pair["read"] == ("DIFFERENT" if result.is_duplicate else "SAME"):
            disagreements.add_row(pair["read"], result.rule, f"{pair['id_new']}\n{pair['id_kept']}", pair["why"])
    table = Table("read", "pairs", "dropped", "kept", title="pairs that people have read")
    for read in ("SAME", "DIFFERENT", "UNSURE"):
        dropped, kept = counts[read, True], counts[read, False]
        table.add_row(read, str(dropped + kept), str(dropped), str(kept))
    console.print(table, *[disagreements] * given.show)


if __name__ == "__main__":
    main()
