"""Run the tests of crawls with each supported version of Python and Scrapy, and with the oldest of all dependencies.

``nox`` runs all combinations, ``nox -s lowest`` the oldest, ``nox -s "crawls-3.12(scrapy='2.15')"`` a single one.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import nox

PYTHON = ("3.11", "3.12", "3.13")
SCRAPY = ("2.13", "2.14", "2.15", "2.16", "2.17", "2.18", "2.19")

nox.options.default_venv_backend = "uv"

# Of pyenv's Pythons also those that are not activated are found by their names.
installed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions").glob("3.*/bin")
os.environ["PATH"] = os.pathsep.join([*map(str, installed), os.environ["PATH"]])
OLDEST = next((version for version in PYTHON if shutil.which(f"python{version}")), None)
"""The oldest supported Python of this machine; ``None`` is the one that runs nox."""
OWN = ("dry_runs", "filenames", "formcounts", "suspiciousdrops", "workerprocess")
"""Tests of what the filter does between two calls of Scrapy, which no version of a dependency changes."""


def run_tests(session: nox.Session, *options: str) -> None:
    """Run the tests of crawls with what is installed."""
    tests = ("tests/crawl", "tests/promises/test_nothing_lost.py", "tests/test_demo.py")
    session.run("python", "-m", "pytest", "-q", "-n", "3", "--dist", "loadfile", *options, *(session.posargs or tests))


@nox.session(python=PYTHON)
@nox.parametrize("scrapy", SCRAPY)
def crawls(session: nox.Session, scrapy: str) -> None:
    """The newest versions of all dependencies but Scrapy."""
    # Scrapy before 2.19 does not install what it downloads with where there is no Twisted reactor.
    session.install("--compile-bytecode", ".[test]", f"scrapy=={scrapy}.*", *["httpx"] * (scrapy != SCRAPY[-1]))
    run_tests(session)


@nox.session(python=PYTHON)
def wheel(session: nox.Session) -> None:
    """The commands of the built wheel in an environment that holds nothing else, also with Spark if there is Java."""
    built = Path(session.virtualenv.location, "built").resolve()  # create_tmp would move TMPDIR into this project
    session.run("uv", "build", "-q", "--wheel", "--clear", "--out-dir", str(built), external=True)
    (file,) = built.glob("*.whl")
    extras = ["batch", "report", "review", *["spark"] * bool(shutil.which("java"))]
    session.install("--compile-bytecode", f"{file}[{','.join(extras)}]")
    session.run("python", ".ci/try_wheel.py", *extras)


@nox.session(python=OLDEST)
def lowest(session: nox.Session) -> None:
    """The oldest versions that pyproject.toml allows, with the oldest Python of this machine."""
    if PYTHON[0] != OLDEST:
        session.warn(f"There is no Python {PYTHON[0]}: {OLDEST or 'the Python of nox'} is used instead.")
    session.install("--compile-bytecode", "--resolution", "lowest-direct", ".[test]")
    session.run("python", ".ci/try_wheel.py")
    run_tests(session, *(f"--ignore=tests/crawl/test_{name}.py" for name in OWN))
