"""Other packages for Scrapy, which the extra ``works-with`` installs, and programs that they need."""

from __future__ import annotations

import shutil
from importlib.util import find_spec

import pytest


def needs_package(name: str) -> pytest.MarkDecorator:
    """Skip the tests of a module where the package *name* (as it is imported) is not installed."""
    return pytest.mark.skipif(
        find_spec(name) is None, reason=f"{name} is not installed: pip install '.[works-with]' installs it"
    )


def needs_program(name: str) -> pytest.MarkDecorator:
    """Skip the tests of a module where there is no program *name*."""
    return pytest.mark.skipif(
        shutil.which(name) is None, reason=f"there is no {name}: apt-get install {name} installs it"
    )
