"""Every command in the README and in docs/ and each example in a docstring runs, and every option that they name exists."""

import ast
import doctest
import inspect
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent, indent

import click
import pytest

import crawler_dedup
from crawler_dedup.cli import LazyCommand, app
from crawler_dedup.system.extras import has_extra
from tests.support import processes
from tests.support.crawling import Site, article, html
from tests.support.labelled import pair, write_set
from tests.support.projects import ADDON, project
from tests.support.versions import without_reactor
from tests.support.works import PAGE, write_files

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]

PLACEHOLDERS = {
    "YOURS": "project",
    "https://example.com/": "{site}/",
    "https://example.com/page": "{site}/page",
    "https://example.com/council/evening": "{site}/copy",
    "evil.example": "127.0.0.1",
    "FOLDER": "labelled",
    "pages.parquet": "stored.jsonl",
}
"""Values for the words that a reader replaces."""

NOT_RUN = {
    r"pip install": "needs the network",
    r"python3 -m venv": "is what .ci/run does",
    r"(ps|df) ": "is a command of the system",
    r"spark-submit ": "needs Spark (tests/batch/test_spark.py)",
    r"docker ": "needs Docker",
    r"(scrapyd-deploy|curl) ?": "needs a daemon (tests/works_with/test_scrapyd.py)",
    r"crawler-dedup review": "serves pages until Ctrl-C (tests/cli/test_review.py)",
    r"export ": "sets a variable for the next command",
    r".* redis://": "needs a server (tests/promises/test_machines.py)",
    "eval ": "belongs to a shell (tests/cli/test_completion.py)",
}
"""Beginnings of commands that do not run here, with the reason."""

SETTINGS = """
SPIDER_MODULES = ["project_spiders", "crawler_dedup.spiders"]
DEDUP_TOKENIZER = "bigrams"
DEDUP_STORE_TEXT = True
DOWNLOAD_DELAY = 0
AUTOTHROTTLE_ENABLED = False
"""

_NAME = re.compile(r"[a-z][a-z-]*")


def commands(page: Path) -> list[str]:
    """Return the commands in the ``sh`` blocks of *page*, without comments; a backslash at the end joins two lines."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.join(words) for line in lines if (words := shlex.split(line, comments=True))]


def reason_not_to_run(line: str) -> str:
    if line.startswith("crawler-dedup batch") and not has_extra("batch"):
        return "needs the extra batch, which is not installed"
    return next((reason for beginning, reason in NOT_RUN.items() if re.match(beginning, line)), "")


def page_id(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


# The sandbox: a site, a Scrapy project that has crawled it, labelled pages, a work and a copy of it


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    names = ["page", "other", "third"]
    pages = {f"/{name}": html(article(name, links=[f"/{linked_name}" for linked_name in names])) for name in names}
    pages["/copy"] = html(article("page", frame="copy", links=[f"/{name}" for name in names]))
    pages["/"] = html(article("start", links=["/copy", *pages]))
    with Site(pages) as served:
        yield served


@pytest.fixture(scope="module")
def crawled(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crawled")
    project(folder, site, ADDON + SETTINGS)
    run(folder, "scrapy crawl project")
    texts = {"1": article("x", count=300), "2": article("x", count=300, frame="copy"), "3": article("y", count=300)}
    lines = [json.dumps({"url": f"{site.url}/{name}", "html": text}) for name, text in texts.items()]
    for name in ("pages.jsonl", "stored.jsonl"):
        (folder / name).write_text("\n".join(lines), encoding="utf-8")
    write_set(folder / "labelled", texts, [pair("1", "2", 1), pair("1", "3", 0)])
    write_files(folder / "novels")
    write_files(folder / "suspects", {"copy.txt": PAGE.encode()})
    return folder


@pytest.fixture
def sandbox(crawled: Path, tmp_path: Path) -> Path:
    return shutil.copytree(crawled, tmp_path / "sandbox")


def run(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a reader of the documentation does, who answers every question with yes."""
    program, *arguments = shlex.split(line)
    name = Path(program).name
    module = {"crawler-dedup": [str(Path(sys.executable).with_name(name))], "scrapy": ["-m", "scrapy"]}[name]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SCRAPY_")}
    process = processes.start([*module, *arguments], cwd=folder, env={**kept, "PYTHONUTF8": "1"}, stdin=subprocess.PIPE)
    output, errors = process.communicate("y\n" * 50, timeout=100)
    assert process.returncode is not None
    return subprocess.CompletedProcess(arguments, process.returncode, output, errors)


_READING = ("crawler-dedup why ", "crawler-dedup report ", "crawler-dedup index stats")
_ran: set[str] = set()
"""Commands that were run, on any page; those that only read are run once."""


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=page_id)
def test_every_command_of_a_page_runs(page: Path, sandbox: Path, site: Site) -> None:
    for line in commands(page):
        if reason_not_to_run(line) or (line in _ran and line.startswith(_READING)):
            continue
        _ran.add(line)
        words = [PLACEHOLDERS.get(word, word).format(site=site.url) for word in shlex.split(line)]
        done = run(sandbox, shlex.join(words))
        assert done.returncode == ("works check" in line), (line, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr, (line, done.stderr)


def test_no_exception_and_no_placeholder_is_unused() -> None:
    documented = [line for page in PAGES for line in commands(page)]
    for beginning in NOT_RUN:
        assert any(re.match(beginning, line) for line in documented), beginning
    words = {word for line in documented for word in shlex.split(line)}
    assert set(PLACEHOLDERS) <= words


# Python


def python_blocks(text: str) -> list[str]:
    return [dedent(block) for block in re.findall(r"^ *```python\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)]


def test_examples_in_python_are_python_and_the_names_of_the_package_exist() -> None:
    for page in PAGES:
        for block in python_blocks(page.read_text(encoding="utf-8")):
            for node in ast.walk(ast.parse(block)):
                if (
                    isinstance(node, ast.Attribute)
                    and isinstance(node.value, ast.Name)
                    and node.value.id == "crawler_dedup"
                ):
                    getattr(crawler_dedup, node.attr)
                elif isinstance(node, ast.ImportFrom) and node.module == "crawler_dedup":
                    assert {alias.name for alias in node.names} <= {*crawler_dedup.__all__, "spark"}


def test_the_examples_without_scrapy_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = python_blocks((ROOT / "docs/reference/api.md").read_text(encoding="utf-8"))
    assert blocks
    for block in blocks:
        exec(block, {"body": article("a").encode()})


# Programs that crawl without a project


def programs(heading: str) -> list[str]:
    """Return the Python blocks below *heading* of the page about places to run."""
    section = (ROOT / "docs/how-to/where-it-runs.md").read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2]
    return python_blocks(section.partition("\n## ")[0])


def run_program(folder: Path, site: Site, program: str) -> str:
    """Run a documented program in *folder*, with *site* and an index there, and return its log."""
    program = program.replace("https://example.com/", f"{site.url}/")
    (folder / "program.py").write_text(program.replace("/home/me/crawls/dedup", str(folder / "dedup")))
    done = processes.run(["program.py"], cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert (folder / "dedup" / "data.mdb").exists()
    return done.stdout + done.stderr


@without_reactor
def test_the_lines_for_a_notebook_crawl(site: Site, tmp_path: Path) -> None:
    (cell,) = programs("A notebook")
    assert "await runner.crawl(crawler)\n{" in cell
    # Jupyter awaits, and prints the value of the last line.
    body = indent(cell.replace("\n{name", "\nprint({name").rstrip() + ")\n", "    ")
    printed = run_program(tmp_path, site, f"import asyncio\n\nasync def cells():\n{body}\nasyncio.run(cells())\n")
    assert "'dedup/dropped': 1" in printed


def test_the_programs_for_a_script_crawl(site: Site, tmp_path: Path) -> None:
    (cell,) = programs("A notebook")
    spider = cell.partition("from scrapy.crawler import AsyncCrawlerRunner\n")
    source = (spider[0] + spider[2].partition("\nrunner = ")[0]).replace("https://example.com/", f"{site.url}/")
    scripts = programs("A script")
    assert len(scripts) == 2
    for number, script in enumerate(scripts):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "spiders.py").write_text(source)
        assert "'dedup/dropped': 1" in run_program(folder, site, script)


# Commands and options that stand in a sentence


def documented_calls(page: Path) -> list[str]:
    """Return everything that is typeset as code and begins with ``crawler-dedup``, in sentences, tables and blocks."""
    text = re.sub(r"\s+", " ", page.read_text(encoding="utf-8"))
    return [*commands(page), *re.findall(r"`(crawler-dedup [^`]*)`", text)]


def unknown_words(call: str) -> list[str]:
    """Return the names of commands and the options in *call* that do not exist."""
    _, *words = call.split()
    command: click.Command = app
    context = click.Context(command)
    unknown = []
    while isinstance(command, click.Group) and words and _NAME.fullmatch(words[0]):
        name = words.pop(0)
        subcommand = command.get_command(context, name)
        subcommand = subcommand.load() if isinstance(subcommand, LazyCommand) else subcommand
        if subcommand is None:
            return [name]
        command = subcommand
    options = [parameter.opts for parameter in command.get_params(click.Context(command))]
    known = {option for names in options for option in names} | {"-h", "--help"}
    for word in words:
        option = word.partition("=")[0]
        if re.fullmatch(r"--?[a-z][a-z-]*", option) and option not in known:
            unknown.append(option)
    return unknown


def test_every_command_and_option_that_a_page_names_exists() -> None:
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        for call in documented_calls(page):
            if call.startswith("crawler-dedup "):
                assert unknown_words(call) == [], call


def test_the_table_of_commands_names_every_command() -> None:
    table = (
        (ROOT / "docs/reference/commands.md").read_text(encoding="utf-8").split("\n\n| command |")[1].split("\n\n")[0]
    )
    rows = [re.findall(r"`([a-z ]+)`", row.split("|")[1]) for row in table.splitlines()[2:]]
    groups = [names[0].rpartition(" ")[0] for names in rows]  # which the first name of a row has before it
    words = [[name.rpartition(" ")[2] for name in names] for names in rows]
    named = {f"{group} {name}".strip() for group, names in zip(groups, words, strict=True) for name in names}
    context = click.Context(app)
    existing = set()
    for name in app.list_commands(context):
        command = app.get_command(context, name)
        parts = command.list_commands(context) if isinstance(command, click.Group) else []
        existing |= {f"{name} {part}" for part in parts} or {name}
    assert named == existing


# Docstrings

PUBLIC = {name: getattr(crawler_dedup, name) for name in crawler_dedup.__all__}
USED = [
    name
    for name, value in PUBLIC.items()
    if inspect.isfunction(value) or (inspect.isclass(value) and not issubclass(value, Exception))
]


@pytest.mark.parametrize("name", USED)
def test_each_public_class_and_function_has_an_example_that_works(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    docstring = inspect.getdoc(PUBLIC[name]) or ""
    example = doctest.DocTestParser().get_doctest(docstring, PUBLIC, name, filename=None, lineno=None)
    output: list[str] = []
    failed, attempted = doctest.DocTestRunner().run(example, out=output.append)
    assert attempted
    assert not failed, "".join(output)
