"""The examples in the docstrings of public names work as they are shown."""

from __future__ import annotations

import doctest
import inspect
from pathlib import Path

import pytest

import crawler_dedup

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
