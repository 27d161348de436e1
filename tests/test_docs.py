from __future__ import annotations

import re
from pathlib import Path

import pytest

import crawler_dedup
from crawler_dedup import Config
from crawler_dedup.signing.signer import Signer

ROOT = Path(__file__).parents[1]
SOURCE = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "crawler_dedup").rglob("*.py")}


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_statistic_is_documented() -> None:
    filtering = SOURCE["middleware.py"] + SOURCE["reports.py"]
    counted = set(re.findall(r'\bcount\(f?"([a-z_]+)', filtering))
    counted |= set(re.findall(r'Verdict\.[A-Z]+: "([a-z]+)"', filtering)) | {"dropped", "marked"}
    counted |= set(re.findall(r'inc_value\(f"dedup/([a-z]+)', SOURCE["settling.py"]))
    counted |= {f"{what}_by_host" for what in re.findall(r'"([a-z]+)": Hosts\(\)', filtering)}
    assert {"checked", "kept", "dropped", "skipped", "error", "distance", "handled"} <= counted
    documented = set(re.findall(r"`dedup/([a-z_]+)", read("docs/stats.md")))
    assert counted == documented


def test_every_reason_for_skipping_is_documented() -> None:
    gate = SOURCE["gate.py"].split("def refuses")[1]
    reasons = re.findall(r'return "([a-z_]+)"', gate)
    assert reasons == re.findall(r"^\| `([a-z_]+)` \|", read("docs/stats.md").split("Reasons for")[1], re.MULTILINE)


def test_every_meta_key_is_documented() -> None:
    doors = SOURCE["middleware.py"] + SOURCE["gate.py"]
    keys = set(re.findall(r'meta\.get\("(dedup_[a-z]+)"', doors))
    assert keys == set(re.findall(r"^### (dedup_[a-z]+)", read("docs/meta.md"), re.MULTILINE))


def test_settings_in_the_documents_exist() -> None:
    known = {f"DEDUP_{name.upper()}" for name in Config.__dataclass_fields__}
    for page in ("README.md", "docs/journal.md", "docs/meta.md", "docs/monitoring.md", "docs/stats.md"):
        assert set(re.findall(r"(?<!CRAWLER_)DEDUP_[A-Z_]+", read(page))) <= known


@pytest.mark.parametrize("name", crawler_dedup.__all__)
def test_every_public_name_can_be_imported_and_has_a_document(name: str) -> None:
    public = getattr(crawler_dedup, name)
    assert not isinstance(public, type) or public.__doc__


def test_only_the_doors_import_scrapy() -> None:
    doors = {
        "addon.py",
        "feeds.py",
        "feedwatch.py",
        "gate.py",
        "middleware.py",
        "progress.py",
        "reports.py",
        "scopes.py",
        "settings.py",
        "settling.py",
        "signals.py",
        "startup.py",
    }
    assert {
        name for name, text in SOURCE.items() if re.search(r"^\s*(import|from) scrapy", text, re.MULTILINE)
    } == doors


def test_the_header_names_all_that_signatures_depend_on() -> None:
    spec = Signer(Config(tokenizer="bigrams")).spec
    assert set(spec) == {"behaviour", "scheme", "extractor", "min features", "tokenizer", "fold han"}


def test_readme_gives_the_two_commands_on_a_line_each() -> None:
    lines = read("README.md").splitlines()
    assert sum(line.endswith("scrapy crawl demo") and line.startswith("python3 -m venv") for line in lines) == 1
    assert sum("-m pytest" in line and line.startswith("python3 -m venv") for line in lines) == 1
