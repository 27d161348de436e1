"""Tables of cases in TOML files beside the tests."""

import tomllib
from pathlib import Path
from typing import Any


def read_cases(test: str, name: str = "cases") -> dict[str, Any]:
    """Return the content of ``NAME.toml`` in the folder of the file *test*."""
    return tomllib.loads(Path(test).with_name(f"{name}.toml").read_text(encoding="utf-8"))
