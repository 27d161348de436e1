"""Dependencies: every imported package is declared, and packages of an extra may be missing."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from crawler_dedup import Config, Deduplicator
from crawler_dedup.system.extras import EXTRAS
from tests.support.crawling import article
from tests.support.indexing import run
from tests.support.labelled import write_set

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
PROJECT: dict[str, Any] = tomllib.loads(TEXT)["project"]
MODULES = sorted((ROOT / "crawler_dedup").rglob("*.py"))
BATCH = [path for path in MODULES if path.is_relative_to(ROOT / "crawler_dedup" / "batch")]
SERVER = [path for path in MODULES if path.is_relative_to(ROOT / "crawler_dedup" / "index" / "redis")]
WARC = [path for path in MODULES if path.parent.name == "warc"]
REPORT = [path for path in MODULES if path.is_relative_to(ROOT / "crawler_dedup" / "report")]
REVIEW = [path for path in MODULES if path.is_relative_to(ROOT / "crawler_dedup" / "review")]
OF_AN_EXTRA = {
    **dict.fromkeys(BATCH, ("batch",)),
    **dict.fromkeys(SERVER, ("redis",)),
    **dict.fromkeys(WARC, ("warc",)),
    **{path: ("batch", "spark") for path in BATCH if path.name == "spark.py"},
    **{path: ("report",) for path in REPORT if path.name == "rendering.py"},
    **dict.fromkeys(REVIEW, ("review",)),
}
"""Modules that need an extra as soon as they are imported. The packages of these names are imported by commands only."""
NOT_IMPORTED = {"lxml-html-clean"}
"""What is declared for another package, as its comment says."""


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def names(requirements: list[str]) -> set[str]:
    """Return the packages that *requirements* name."""
    return {normalised(re.split(r"[^\w.-]", requirement)[0]) for requirement in requirements}


CORE = names(PROJECT["dependencies"])


@cache
def imports_of(path: Path) -> list[tuple[str, bool]]:
    """Return each module that is imported at run time, and whether that happens inside of a function only."""
    return list(imports(ast.parse(path.read_text(encoding="utf-8"))))


def imports(tree: ast.AST, inside_function: bool = False) -> Iterator[tuple[str, bool]]:
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                continue
            case ast.Import(names=aliases):
                yield from ((alias.name, inside_function) for alias in aliases)
            case ast.ImportFrom(module=str(module), names=aliases):
                # A package of several distributions is known by the module below it.
                yield from (
                    (f"{module}.{alias.name}" if "." not in module else module, inside_function) for alias in aliases
                )
        yield from imports(node, inside_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


distributions = cache(packages_distributions)


def distribution(module: str) -> str | None:
    """Return the package that brings *module*; ``None`` if Python or this package does."""
    first, *rest = module.split(".")
    if first in {*sys.stdlib_module_names, "compression", "crawler_dedup"}:  # "compression" is new in Python 3.14
        return None
    if first == "backports":
        return f"backports-{rest[0]}"
    return normalised(distributions().get(first, [first])[0])


def test_modules_import_only_declared_packages() -> None:
    extras = PROJECT["optional-dependencies"]
    later = CORE.union(*(names(extras[name]) for name in EXTRAS))
    for path in MODULES:
        at_once = CORE.union(*(names(extras[extra]) for extra in OF_AN_EXTRA.get(path, ())))
        for module, inside_function in imports_of(path):
            assert distribution(module) in {*(later if inside_function else at_once), None}, (path, module)


def test_every_declared_package_is_imported_somewhere() -> None:
    used = {distribution(module) for path in MODULES for module, _ in imports_of(path)}
    assert used - {None} >= CORE - NOT_IMPORTED
    assert used.isdisjoint(NOT_IMPORTED)


def test_the_modules_of_an_extra_are_imported_by_its_package_only() -> None:
    names = "report", "review.pages", "batch", "index.redis", "warc"
    of_extras = tuple(f"crawler_dedup.{name}" for name in names)
    for path in {*MODULES} - {*BATCH, *REPORT, *REVIEW, *SERVER, *WARC}:
        for module, inside_function in imports_of(path):
            assert inside_function or not module.startswith(of_extras), path


def test_the_extras_are_those_that_messages_name() -> None:
    for extra, packages in EXTRAS.items():
        assert names(PROJECT["optional-dependencies"][extra]) == set(packages)
    tested = sorted({*EXTRAS} - {"spark"})  # large, and of no use without Java
    assert f"crawler-dedup[{','.join(tested)}]" in PROJECT["optional-dependencies"]["test"]


def test_each_dependency_is_declared_with_its_reason() -> None:
    lists = re.findall(
        r"^(?:dependencies|batch|fast|redis|report|review|spark|stem|warc) = \[\n(.*?)^\]",
        TEXT,
        re.MULTILINE | re.DOTALL,
    )
    assert len(lists) == 1 + len(EXTRAS)
    for line in "".join(lists).splitlines():
        assert re.search(r'",\s+# \w.{10,}$', line), line


BLOCKED = [name for packages in EXTRAS.values() for name in packages]
WITHOUT_EXTRAS = f"""
    import sys
    for name in {BLOCKED}:
        sys.modules[name] = None
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with an index of one page, and with labelled pages."""
    folder = tmp_path_factory.mktemp("extras")
    with Deduplicator.open(folder / "index", Config(tokenizer="bigrams")) as deduplicator:
        deduplicator.check("http://a.org/1", article("x").encode())
    write_set(folder / "labelled", {"1": article("x"), "2": article("y")}, [{"id_a": "1", "id_b": "2", "label": 0}])
    return folder


def test_a_missing_extra_is_reported_in_one_sentence(folder: Path) -> None:
    compare = "compare labelled/html/1.html labelled/html/2.html -s"
    calls, expected = [], ""
    for command, option, feature, extra in [
        ("report index -o report.html", "", "crawler-dedup report", "report"),
        ("review index", "", "crawler-dedup review", "review"),
        ("batch sign labelled/docs.jsonl -o signed", "", "crawler-dedup batch", "batch"),
        (compare, "DEDUP_TOKENIZER=rjieba", "DEDUP_TOKENIZER = 'rjieba'", "fast"),
        (compare, "DEDUP_SCHEME=simhash stem=dutch", "DEDUP_SCHEME = 'simhash' with stem=dutch", "stem"),
    ]:
        calls.append([*command.split(), *filter(None, [option])])
        missing = f"needs packages that are not installed ({', '.join(EXTRAS[extra])})"
        expected += f'Error: {feature} {missing}: pip install "crawler-dedup[{extra}]"\n2\n'
    code = f"""{WITHOUT_EXTRAS}
    import os
    os.chdir({str(folder)!r})
    from crawler_dedup.cli import app
    for words in {calls!r}:
        try:
            app(words)
        except SystemExit as end:
            print(end.code, file=sys.stderr)
    """
    assert run(code) == (0, "", expected)
    assert not [*folder.glob("*.html"), *folder.glob("*.svg")]


def test_without_extras_everything_else_can_be_imported_and_pages_are_checked(tmp_path: Path) -> None:
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in MODULES
        if path not in (*BATCH, *REPORT, *REVIEW, *SERVER, *WARC) and path.name != "__main__.py"
    ]
    code = f"""{WITHOUT_EXTRAS}
    from importlib import import_module
    for name in {modules}:
        import_module(name)
    from crawler_dedup import Config, Deduplicator
    for scheme in ("simhash", "pinyin"):
        with Deduplicator.open({str(tmp_path)!r} + "/" + scheme, Config(tokenizer="bigrams", scheme=scheme)) as deduplicator:
            print(deduplicator.check("http://a.org/", {article("x")!r}.encode()).verdict.value)
    """
    status, output, errors = run(code)
    assert (status, output) == (0, "new\nnew\n"), errors
