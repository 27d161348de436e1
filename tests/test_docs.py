"""The statements of the documentation are those of the code, and consistent."""

import ast
import importlib.util
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from pkgutil import resolve_name

from crawler_dedup import Config
from crawler_dedup.index import header
from crawler_dedup.inspection import transfer
from crawler_dedup.journal import entry
from crawler_dedup.rules import table
from crawler_dedup.signing import schemes
from crawler_dedup.signing.signer import BEHAVIOUR, Signer

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "crawler_dedup"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
# The change log names modules as they were.
CURRENT = [page for page in PAGES if page.name != "CHANGELOG.md"]
ARCHITECTURE = "docs/explanation/architecture.md"

SOURCE = {
    path.relative_to(PACKAGE).with_suffix("").as_posix(): path.read_text(encoding="utf-8")
    for path in PACKAGE.rglob("*.py")
}
LOADED_BY_SCRAPY = ("addon", "middleware", "settling")
CRAWL = [name for name in SOURCE if name.startswith("crawl/") or name in (*LOADED_BY_SCRAPY, "works/middleware")]


@cache
def trees() -> dict[str, ast.Module]:
    """Return the syntax trees of all modules of the package."""
    return {name: ast.parse(text) for name, text in SOURCE.items()}


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def page_id(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


# Statistics, meta keys, settings, loggers


def statistics() -> set[str]:
    """Return the names of all statistics, without ``dedup/`` and without what stands behind the next ``/``."""
    names: set[str] = set()
    for text in (SOURCE[name] for name in CRAWL):
        for arguments in re.findall(r"\.(?:count|inc_value)\(\s*(.*)|Verdict\.\w+: (\".*)", text):
            names.update(*(re.findall(r'"(?:dedup/)?([a-z_]+)', argument) for argument in arguments))
        names.update({"dropped_by_host", "marked_by_host"} if "_by_host/" in text else ())
    return names - {"dedup"}


def test_every_statistic_is_documented() -> None:
    counted = statistics()
    assert {"checked", "kept", "dropped", "skipped", "error", "distance", "handled", "dropped_by_host"} <= counted
    assert counted == set(re.findall(r"`dedup/([a-z_]+)", read("docs/reference/stats.md")))


def test_every_reason_for_skipping_is_documented() -> None:
    returned = re.findall(r'^ +return "([a-z_]+)"$', SOURCE["crawl/gate"], re.MULTILINE)
    section = read("docs/reference/stats.md").split("Reasons for")[1]
    assert "no_callback" in returned
    assert returned == re.findall(r"^\| `([a-z_]+)` \|", section, re.MULTILINE)


def test_every_meta_key_is_documented() -> None:
    keys = {key for name in CRAWL for key in re.findall(r'meta(?:\.\w+\(|\[)"(dedup_[a-z_]+)"', SOURCE[name])}
    assert keys == set(re.findall(r"^### (dedup_[a-z_]+)", read("docs/reference/meta.md"), re.MULTILINE))


def test_every_logger_is_documented() -> None:
    named = {
        name if name else f"crawler_dedup.{module.replace('/', '.')}"
        for module, text in SOURCE.items()
        for name in re.findall(r'= logger_without_credentials\((?:__name__|"(.+)")\)', text)
    }
    section = read("docs/reference/stats.md").split("## Log lines")[1]
    assert named == set(re.findall(r"`(crawler_dedup\.[a-z_.]+)`", section))


def texts_of(tree: ast.AST) -> Iterator[str]:
    """Yield the strings in the code of a module without its docstrings."""
    docstrings = {
        node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings:
            yield node.value


def test_messages_and_reports_name_no_document_because_documents_are_not_installed() -> None:
    texts = {name: list(texts_of(tree)) for name, tree in trees().items()}
    templates = [*PACKAGE.rglob("*.jinja")]
    assert templates
    for path in templates:
        texts[path.name] = [path.read_text(encoding="utf-8")]
    assert [name for name, messages in texts.items() if any("docs/" in text for text in messages)] == []


# Imports and rules


def test_the_rules_for_scrapy_and_databases_name_every_other_module_and_package() -> None:
    rules = tomllib.loads(read("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    by_id = {rule["id"]: rule for rule in rules}
    ours = {name.split("/")[0] for name in SOURCE} - {"__init__", *by_id["layers"]["exhaustive_ignores"]}
    held_off = {id_: {name.split(".")[1] for name in by_id[id_]["source_modules"]} for id_ in ("scrapy", "lmdb")}
    assert held_off["scrapy"] == ours - {*LOADED_BY_SCRAPY, "crawl", "cli", "spiders"}
    assert held_off["lmdb"] == ours - {"index"}


def test_the_table_of_rules_has_every_rule_in_its_order() -> None:
    rows = read("docs/explanation/rules.md").split("## The table")[1].split("\n\n")[1].splitlines()[2:]
    names = [row.split("|")[1].strip() for row in rows]
    assert names == [*(rule.name for rule in table.TABLE), table.TOO_MANY_VARIANTS]


def test_the_document_names_everything_in_the_header() -> None:
    spec = Signer(Config(tokenizer="bigrams")).spec
    assert set(spec) == {"behaviour", "scheme", "extractor", "min features", "tokenizer", "fold han"}
    listed = read("docs/explanation/the-index.md").split("What signatures depend on")[1].split("\n\n")[0]
    assert set(spec) <= set(re.findall(r"`([a-z ]+)`", " ".join(listed.split())))


# Numbers that other software goes by


def test_each_version_is_the_one_that_its_document_names() -> None:
    for page, sentence in [
        ("docs/explanation/the-index.md", f"The current behaviour is {BEHAVIOUR}"),
        ("docs/explanation/the-index.md", f"The current format is {header.FORMAT}"),
        ("docs/reference/export.md", f"Version {transfer.FORMAT}."),
        ("docs/reference/journal.md", f"- `version`: that of this format, {entry.VERSION}"),
    ]:
        text = " ".join(read(page).split())
        assert sentence in text
        # No other number stands in its place anywhere on the page.
        before, _, _ = sentence.rpartition(re.findall(r"\d+", sentence)[-1])
        assert len(re.findall(re.escape(before) + r"\d+", text)) == 1


def versions_of_nox(name: str) -> list[str]:
    """Return the versions of Python or of Scrapy with which nox runs the tests."""
    (line,) = re.findall(rf"^{name} = \((.*)\)$", read("noxfile.py"), re.MULTILINE)
    return re.findall(r'"([\d.]+)"', line)


def test_the_supported_versions_are_those_that_nox_runs_and_the_package_declares() -> None:
    pythons, scrapys = versions_of_nox("PYTHON"), versions_of_nox("SCRAPY")
    pyproject = read("pyproject.toml")
    assert re.findall(r"Python :: (3\.\d+)", pyproject) == pythons
    assert f'requires-python = ">={pythons[0]}"' in pyproject
    assert re.findall(rf'"scrapy>={scrapys[0]}\.[\d.]+"', pyproject)
    section = read("docs/reference/compatibility.md").split("## Versions")[1].split("\n## ")[0]
    supported = f"Python {pythons[0]} to {pythons[-1]} and Scrapy {scrapys[0]} to {scrapys[-1]} are supported."
    assert section.strip().startswith(supported)


def test_the_change_log_keeps_to_its_form_and_its_newest_section_is_this_version() -> None:
    text = read("CHANGELOG.md")
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.*)$", text, re.MULTILINE)) <= kinds
    unreleased, *released = re.findall(r"^## (.*)$", text, re.MULTILINE)
    (declared,) = re.findall(r'^version = "([^"]+)"', read("pyproject.toml"), re.MULTILINE)
    assert f"\nversion: {declared}\n" in read("CITATION.cff")
    assert unreleased == "[Unreleased]"
    assert re.fullmatch(rf"\[{re.escape(declared)}\] - \d{{4}}-\d\d-\d\d", released[0])
    if "dev" not in version("crawler-dedup"):
        assert version("crawler-dedup") == declared


# Names of settings, modules, files and sections


def resolve(name: str) -> object:
    try:
        return resolve_name(name)
    except AttributeError:
        return importlib.util.find_spec(name)  # a module that needs an extra


def test_every_setting_module_and_file_that_a_page_names_exists() -> None:
    for page in CURRENT:
        text = page.read_text(encoding="utf-8")
        known = {f"DEDUP_{name.upper()}" for name in Config.__dataclass_fields__}
        assert set(re.findall(r"(?<!CRAWLER_)DEDUP_[A-Z_]*[A-Z]", text)) <= known
        for name in set(re.findall(r"\bcrawler_dedup(?:\.\w+)+", text)) - {schemes.GROUP}:
            assert resolve(name) is not None
        folders = "benchmarks|crawler_dedup|docs|settings|spiders|tests"
        for name in re.findall(rf"`[^`\n]*?\b((?:{folders})/[\w./-]*)", text):
            assert (ROOT / name).exists(), name
        for module in re.findall(r"-m (benchmarks\.\w+)", text):
            assert importlib.util.find_spec(module) is not None, module


def without_code(text: str) -> str:
    return re.sub(r"^( *)(```|~~~).*?^\1\2", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of *page*, as GitHub makes them."""
    taken: list[str] = []
    for heading in re.findall(r"^#+ +(.*?) *$", without_code(page.read_text(encoding="utf-8")), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        times = sum(re.fullmatch(re.escape(anchor) + r"(-\d+)?", taken_anchor) is not None for taken_anchor in taken)
        taken.append(f"{anchor}-{times}" if times else anchor)
    return set(taken)


def links(page: Path) -> list[str]:
    text = re.sub(r"`[^`\n]*`", "", without_code(page.read_text(encoding="utf-8")))
    return re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r"^\[[^\]]+\]: (\S+)", text, re.MULTILINE)


def test_every_relative_link_has_a_target() -> None:
    for page, link in ((source, link) for source in PAGES for link in links(source)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), (page, link)
        assert not anchor or anchor in anchors(target), (page, link)


def test_the_words_that_people_search_for_lead_to_a_page() -> None:
    """The search lists an entry of the index first if it contains what was typed and is at most twice as long."""
    typed = """GDPR, privacy, personal data, backup, move, yesterday, exclude, section, ignore dates, slower, memory, login,
        pagination, facets, calendar, print, AMP, translation, near duplicate, simhash threshold, false positive,
        restore a page, memory usage, incremental crawl, news archive"""
    comments = [
        words for page in CURRENT for words in re.findall(r"^<!-- search words: (.*) -->$", read(page_id(page)), re.M)
    ]
    entries = {entry for words in comments for entry in words.split(", ")}
    for words in re.split(r",\s+", typed):
        assert any(words in entry and len(entry) <= 2 * len(words) for entry in entries), words


def test_the_files_of_a_source_distribution_exist() -> None:
    (listed,) = re.findall(
        r"\[tool\.hatch\.build\.targets\.sdist\]\ninclude = \[(.*?)\]", read("pyproject.toml"), re.DOTALL
    )
    for name in re.findall(r'"/([^"]+)"', listed):
        assert (ROOT / name).exists()


# The architecture page


def test_the_tree_of_the_architecture_page_is_the_tree_of_the_package() -> None:
    blocks = "".join(
        read(ARCHITECTURE).split("## The core, and what stands beside it")[1].split("## ")[0].split("```")[1::2]
    )
    lines = [line.strip() for line in blocks.splitlines() if line.startswith("  ") and not line.startswith("   ")]
    words = {word for line in lines for word in re.split(r" {2,}", line)[0].split()}
    named = {word for word in words if word.count("/") <= word.endswith("/")}  # parts of packages stand there, too
    packages = {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")} | {"data/"}
    modules = {path.name for path in PACKAGE.glob("*.py")}
    existing = packages | modules
    assert named == existing


def test_the_layers_of_the_architecture_page_are_those_of_the_import_rules() -> None:
    block = read(ARCHITECTURE).split("## Who may import whom")[1].split("```")[1]
    contracts = tomllib.loads(read("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["id"] == "layers")
    assert [line for line in block.splitlines() if line] == layers


def test_every_module_of_the_architecture_page_exists() -> None:
    folders = "|".join(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
    named = set(re.findall(rf"(?<![\w/])((?:{folders})/[a-z_]+(?:/[a-z_]+)?)\b(?!/)", read(ARCHITECTURE)))
    missing = {name for name in named if not (PACKAGE / f"{name}.py").exists() and not (PACKAGE / name).is_dir()}
    assert not missing


# The README


def test_the_readme_has_each_of_the_two_commands_on_a_line() -> None:
    lines = read("README.md").splitlines()
    assert sum(line.endswith("scrapy crawl demo") and line.startswith("python3 -m venv") for line in lines) == 1
    assert sum("-m pytest" in line and line.startswith("python3 -m venv") for line in lines) == 1


def test_the_readme_is_short() -> None:
    lines = read("README.md").splitlines()
    assert len(lines) <= 90
    assert max(map(len, lines)) <= 120


def test_the_readme_leads_to_the_table_of_contents_and_that_names_every_page_in_one_part() -> None:
    assert "docs/README.md" in links(ROOT / "README.md")
    named = [(ROOT / "docs" / link).resolve() for link in links(ROOT / "docs/README.md") if link.endswith(".md")]
    assert sorted(named) == sorted(ROOT.glob("docs/*/*.md"))
    assert [*ROOT.glob("docs/*.md")] == [ROOT / "docs/README.md"]
