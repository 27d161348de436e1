"""Batch jobs and text-dedup on the same labelled pages: ``python -m benchmarks.batch_peers [FOLDER] --text-dedup PYTHON``.

text-dedup (https://github.com/ChenghaoMou/text-dedup) needs Python 3.12 and so a separate interpreter: ``--text-dedup``
names it. text-dedup gets the main texts that this package has extracted. Without the option only this package is measured.
Every program runs on one core. A pair counts as called a duplicate if both its pages are in one group. Grey pairs do not
count.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.index.report import Report
from crawler_dedup.batch.find import find_duplicates
from crawler_dedup.batch.formats.records import Columns
from crawler_dedup.batch.output import CLUSTERS
from crawler_dedup.batch.sign import sign_collection
from crawler_dedup.config import Config
from crawler_dedup.evaluation.labelled import LabelledSet, read_body, read_folder
from crawler_dedup.signing.signer import Signer
from tests.support.collections import start
from tests.support.data import DATA, require_data

Groups = Mapping[str, str]
"""Identifier of a page → identifier of the page that stands for its group. A page without an entry is a group by itself."""

_MINHASH = {"num_perm": 240, "threshold": 0.7, "ngram_size": 5, "check_false_positive": False}
_SIMHASH = {"f": 64, "bit_diff": 3, "num_bucket": 4, "ngram_size": 3}


class _Page(NamedTuple):
    id: str
    url: str
    html: bytes
    text: str


class _Result(NamedTuple):
    name: str
    seconds: float
    groups: Groups


def read_pages(folder: Path, sets: Sequence[LabelledSet], config: Config) -> Iterator[_Page]:
    """Yield the labelled pages with their main texts."""
    signer = Signer(config)
    for labelled in sets:
        for document in labelled.documents.values():
            body, url = read_body(folder, document), document.url or f"http://{document.id}.invalid/"
            text = signer.sign(url, body, encoding=None, key=None, scope="global")[1]
            yield _Page(f"{labelled.name}/{document.id}", url, body, text or "")


def run_job(folder: Path, source: Path, columns: Columns, config: Config, order: str = "") -> Groups:
    """Run the steps ``sign`` and ``find`` of a batch job; return the groups."""
    sign_collection([source], folder / "signed", config, start, columns=columns)
    find_duplicates(folder / "signed", folder / "decisions", config, start, order=order)
    rows = pq.read_table(folder / "decisions" / CLUSTERS, columns=["duplicate", "representative"]).to_pylist()
    return {row["duplicate"]: row["representative"] for row in rows}


def run_text_dedup(python: str, folder: Path, source: Path, ids: Sequence[str], name: str, options: object) -> Groups:
    """Run a program of text-dedup; return the groups."""
    arguments = {"path": "parquet", "data_files": str(source), "split": "train", "cache_dir": str(folder / "cache")}
    sections = {
        "input": {"input_type": "local_files", "file_type": "parquet", "read_arguments": arguments},
        "algorithm": {"algorithm_name": name, "text_column": "text", "num_proc": 1, **dict(options)},  # type: ignore[call-overload]
        "output": {"output_dir": str(folder / "output"), "save_clusters": True, "keep_index_column": True},
        "debug": {},
    }
    lines = []
    for section, values in sections.items():
        tables = {key: value for key, value in values.items() if isinstance(value, dict)}
        lines += [
            f"[{section}]",
            *(f"{key} = {json.dumps(value)}" for key, value in values.items() if key not in tables),
        ]
        for table, inner in tables.items():
            lines += [f"[{section}.{table}]", *(f"{key} = {json.dumps(value)}" for key, value in inner.items())]
    (folder / "config.toml").write_text("\n".join(lines), encoding="utf-8")
    _run([python, "-m", f"text_dedup.{name}"], folder)
    with (folder / "output" / "clusters.pickle").open("rb") as file:
        clusters: dict[int, int] = pickle.load(file)
    return {ids[page]: ids[parent] for page, parent in clusters.items()}


def _run(program: Sequence[str], folder: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "HF_HOME": str(folder / "home")}
    subprocess.run(program, cwd=folder, check=True, env=environment, stdout=subprocess.DEVNULL)


@contextmanager
def cpu_time() -> Iterator[Callable[[], float]]:
    """Yield a function that returns the CPU seconds since then, of this process and of child processes that have ended."""

    def now() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.process_time() + used.ru_utime + used.ru_stime

    began = now()
    yield lambda: now() - began


def measure(folder: Path, python: str, config: Config) -> tuple[list[_Result], Sequence[LabelledSet], int]:
    """Run all programs on the labelled pages of *folder*."""
    sets = read_folder(folder)
    pages = list(read_pages(folder, sets, config))
    ids = [page.id for page in pages]
    results = []
    with tempfile.TemporaryDirectory() as temporary:
        job = Path(temporary)
        columns = {name: [getattr(page, name) for page in pages] for name in _Page._fields}
        texts, htmls = job / "texts.parquet", job / "pages.parquet"
        pq.write_table(pa.table({"id": columns["id"], "text": columns["text"]}), texts)
        pq.write_table(pa.table({name: columns[name] for name in ("id", "url", "html")}), htmls)
        jobs: dict[str, Callable[[Path], Groups]] = {
            "crawler-dedup, pages": lambda job_folder: run_job(job_folder, htmls, Columns(id="id"), config),
            "crawler-dedup --order -chars, pages": lambda job_folder: run_job(
                job_folder, htmls, Columns(id="id"), config, "-chars"
            ),
            "crawler-dedup, texts": lambda job_folder: run_job(
                job_folder, texts, Columns(text="text", id="id"), config
            ),
        }
        importing = 0.0
        if python:
            with cpu_time() as spent:
                _run([python, "-c", "import text_dedup.minhash, text_dedup.simhash"], job)
            importing = spent()
            for name, options in (("minhash", _MINHASH), ("simhash", _SIMHASH)):
                jobs[f"text-dedup {name}, texts"] = lambda job_folder, name=name, options=options: run_text_dedup(  # type: ignore[misc]
                    python, job_folder, texts, ids, name, options
                )
        for place, (name, run) in enumerate(jobs.items()):
            job_folder = job / str(place)
            job_folder.mkdir()
            with cpu_time() as spent:
                groups = run(job_folder)
            results.append(_Result(name, spent() - (importing if name.startswith("text-dedup") else 0), groups))
    return results, sets, len(pages)


def judge(groups: Groups, sets: Sequence[LabelledSet]) -> tuple[int, int, int]:
    """Return how many labelled duplicates are in one group, how many other pairs are, and how many duplicates are not."""
    right = wrong = missed = 0
    for labelled in sets:
        for pair in labelled.pairs:
            first, second = (f"{labelled.name}/{name}" for name in (pair.id_a, pair.id_b))
            together = groups.get(first, first) == groups.get(second, second)
            right += together and pair.label == 1
            wrong += together and pair.label == 0
            missed += not together and pair.label == 1
    return right, wrong, missed


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    parser.add_argument("--text-dedup", default="", help="a Python that has text-dedup")
    given = parser.parse_args()
    require_data(given.folder)
    report = Report()
    report.console.print(f"Load of the machine: {os.getloadavg()[0]:.1f}")
    results, sets, count = measure(given.folder, given.text_dedup, Config(tokenizer="rjieba"))
    rows = []
    for name, seconds, groups in results:
        right, wrong, missed = judge(groups, sets)
        called, duplicates = right + wrong, right + missed
        shares = f"{right / called:.3f}" if called else "-", f"{right / duplicates:.3f}"
        rows.append([name, f"{seconds:.1f}", f"{count / seconds:,.0f}", *shares, f"{right}", f"{wrong}", f"{missed}"])
    columns = ("", "CPU seconds", "pages/s", "precision", "recall", "right", "wrong", "missed")
    report.table(f"{count:,} labelled pages, one core", columns, rows)


if __name__ == "__main__":
    main()
