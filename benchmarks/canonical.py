"""Would ``rel=canonical`` find duplicates? ``python -m benchmarks.canonical [FOLDER ...]``.

Each FOLDER has labelled pages, as for ``crawler-dedup evaluate``. The benchmark counts the pairs whose two pages both name a
canonical address, and those whose addresses are the same.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from urllib.parse import urljoin

from parsel import Selector
from rich.console import Console
from rich.table import Table

from crawler_dedup.evaluation.labelled import read_body, read_folder
from tests.support.data import DATA


def canonical_address(body: bytes, url: str) -> str | None:
    """Return the canonical address that a page names."""
    links = Selector(body.decode("utf-8", "replace"), type="html").css("link[rel~=canonical]::attr(href)")
    return urljoin(url, links[0].get().strip()) if links else None


def main() -> None:
    """Read the pages, count and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, default=[DATA])
    both, same = Counter[object](), Counter[object]()
    for folder in parser.parse_args().folders:
        for labelled in read_folder(folder):
            addresses = {
                name: canonical_address(read_body(folder, page), page.url or "")
                for name, page in labelled.documents.items()
            }
            for pair in labelled.pairs:
                one, other = addresses[pair.id_a], addresses[pair.id_b]
                if one is not None and other is not None:
                    both[pair.label] += 1
                    same[pair.label] += one == other
    table = Table("pairs", "both name an address", "the same")
    for label, meaning in ((1, "duplicates"), (0, "different"), ("grey", "in doubt")):
        table.add_row(meaning, str(both[label]), str(same[label]))
    Console().print(table)


if __name__ == "__main__":
    main()
