"""Marks for tests that need other packages for Scrapy (extra ``works-with``), or the programs that these need."""

import shutil
from importlib.util import find_spec

import pytest


def needs_package(name: str) -> pytest.MarkDecorator:
    """Skip the tests of a module if the package *name* (its import name) is not installed."""
    return pytest.mark.skipif(
        find_spec(name) is None, reason=f"{name} is not installed: pip install '.[works-with]' installs it"
    )


def needs_program(name: str) -> pytest.MarkDecorator:
    """Skip the tests of a module if the program *name* is not installed."""
    return pytest.mark.skipif(
        shutil.which(name) is None, reason=f"there is no {name}: apt-get install {name} installs it"
    )
