"""What ``--json`` prints is what ``docs/json.md`` says."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import pytest
from msgspec import Meta

from crawler_dedup import Config
from crawler_dedup.cli import jsonlines
from crawler_dedup.cli.jsontypes import LINES, Line, Part
from tests.support.noting import json_lines

DOCS = Path(__file__).parents[2] / "docs"


class Inner(Part, frozen=True, kw_only=True):
    """A part."""

    word: Annotated[Literal["a", "b"] | None, Meta(description="A word.")]


class Outer(Line, frozen=True, kw_only=True, tag="outer"):
    """A line."""

    inner: Annotated[list[Inner], Meta(description="Parts.")]
    counts: Annotated[dict[str, int], Meta(description="Numbers.")] = {}  # noqa: RUF012  (msgspec copies it)


def test_the_page_is_the_one_that_is_printed() -> None:
    page = (DOCS / "json.md").read_text(encoding="utf-8")
    assert page == jsonlines.json_reference(), "Print it anew, with the command that the page names."


def test_a_type_is_described_with_its_fields_and_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonlines, "LINES", (Outer,))
    _, line, part = jsonlines.json_reference().split("\n## ")
    assert line.startswith("`outer`\n\nA line.\n")
    assert "| `inner` | array of [Inner](#inner) | Parts. |\n| `counts` | object of integer | Numbers. |" in line
    assert part.startswith("Inner\n\nA part.\n")
    assert '| `word` | `"a"`, `"b"` or null | A word. |' in part


@pytest.mark.parametrize("line", LINES, ids=lambda line: str(line.__struct_config__.tag))
def test_every_type_is_frozen_and_named(line: type[Line]) -> None:
    assert line.__struct_config__.frozen
    assert line.__struct_config__.tag_field == "type"
    assert [other.__struct_config__.tag for other in LINES].count(line.__struct_config__.tag) == 1


def test_settings_are_printed_as_json_lines() -> None:
    settings = json_lines("settings", "--json")
    names = [f"DEDUP_{name.upper()}" for name in Config.__dataclass_fields__]
    assert [(line["type"], line["name"]) for line in settings] == [("setting", name) for name in names]
    assert settings[1]["default"] == Config().action
