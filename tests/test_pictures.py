"""The pictures of a terminal in docs/ show what the commands print today."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.support.processes import ROOT
from tests.support.versions import HAS_TODAYS_TABLES

PICTURES = sorted(ROOT.glob("docs/*.svg"))


@pytest.mark.skipif(not HAS_TODAYS_TABLES, reason="Rich before 14.3 gives columns other widths")
def test_the_picture_of_the_demo_is_up_to_date() -> None:
    program = [sys.executable, str(ROOT / "docs/pictures.py"), "--check", "demo"]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_picture_loads_nothing_from_elsewhere() -> None:
    for picture in PICTURES:
        svg = picture.read_text(encoding="utf-8")
        assert re.findall(r"(?:[\"']|url\()(https?://[^\s\"')<]+)", svg) == ["http://www.w3.org/2000/svg"]
        assert "<script" not in svg


def test_every_picture_is_made_by_the_program() -> None:
    source = (ROOT / "docs/pictures.py").read_text(encoding="utf-8")
    assert PICTURES
    for picture in PICTURES:
        assert f'"{picture.stem}":' in source
