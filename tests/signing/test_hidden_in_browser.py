"""What is hidden is compared with what Chromium shows."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from shutil import which

import pytest

from crawler_dedup.signing.parsing import parse
from tests.support.hiding import CASES, HIDDEN_TO_BE_SAFE

_FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync --dump-dom"
).split()
# A text is shown if its box can be hit with the pointer, and the element around is visible.
_SCRIPT = r"""
function isShown(text) {
  const element = text.parentElement;
  let box = element;
  while (getComputedStyle(box).display === "contents") box = box.parentElement;
  if (!box.checkVisibility({opacityProperty: true, visibilityProperty: true})) return false;
  const range = document.createRange();
  range.selectNodeContents(text);
  return [...range.getClientRects()].some(area => {
    const hit = document.elementFromPoint(area.left + area.width / 2, area.top + area.height / 2);
    return area.width > 0 && area.height > 0 && (hit === element || hit === box);
  });
}
function read(top) {
  const texts = [], walker = document.createTreeWalker(top, NodeFilter.SHOW_TEXT);
  while (walker.nextNode())
    if (walker.currentNode.data.trim() && isShown(walker.currentNode)) texts.push(walker.currentNode.data.trim());
  return texts.join(" ");
}
const answers = document.createElement("pre");
answers.id = "answers";
answers.textContent = JSON.stringify([...document.querySelectorAll(".case")].map(read));
document.body.append(answers);
"""


@pytest.mark.slow
def test_chromium_shows_the_words_of_each_case(tmp_path: Path) -> None:
    chromium = which("chromium") or which("chromium-browser") or which("google-chrome")
    if chromium is None:
        pytest.skip("Chromium is not installed")
    expected = CASES | dict.fromkeys(HIDDEN_TO_BE_SAFE, "a")
    cases = "\n".join(f"<div class=case style='margin:4px;min-height:60px'>{markup}</div>" for markup in expected)
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><meta charset=utf-8><body>{cases}<script>{_SCRIPT}</script>", encoding="utf-8")
    size = f"--window-size=1000,{200 + 90 * len(expected)}"
    command = [chromium, *_FLAGS, f"--user-data-dir={tmp_path / 'profile'}", size, page.as_uri()]
    dumped = subprocess.run(command, capture_output=True, check=True, timeout=300).stdout
    answers = json.loads(parse(dumped, "utf-8").xpath("string(//pre[@id='answers'])"))
    assert dict(zip(expected, answers, strict=True)) == expected
