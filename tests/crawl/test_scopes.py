"""Real crawls in which pages are compared within a scope that their content gives."""

from __future__ import annotations

import pytest

from tests.support.chinese import chinese
from tests.support.crawling import Answer, Crawl, Site, article, html, paragraphs, run_scripts, words

# Language

NOTES = {
    "en": "This is what you get when you order from us. It comes with all of the parts that are on the list below.",
    "de": "Das ist alles, was Sie bekommen, wenn Sie bei uns bestellen. Es kommt mit allen Teilen, die in der Liste sind.",
    "fr": "Voici tout ce que vous recevez quand vous commandez chez nous, avec toutes les pièces qui sont dans la liste.",
}


def parts(language: str, frame: str = "") -> Answer:
    """Return a page of 150 names of parts, with a note in some language; below the English one are all notes."""
    notes = [NOTES["en"] * 3, *NOTES.values()] if language == "en" else [NOTES[language]]
    text = "".join(f"<p>{note}</p>" for note in notes) + paragraphs(words("parts", 150))
    return html(f"<title>Parts</title><nav>{frame}</nav><main><h1>Parts</h1>{text}</main>")


def tea(seed: int, frame: str = "") -> Answer:
    return html(f"<title>茶</title><nav>{frame}</nav><main><p>{chinese(seed)}</p></main>")


def listing(note: str) -> Answer:
    """Return a thin page: short links, and a few words."""
    links = "".join(f'<li><a href="http://elsewhere/{word}">{word}</a></li>' for word in words("listing", 12))
    return html(f"<title>Listing</title><p>{note}</p><ul>{links}</ul>")


LANGUAGE_PAGES = {
    **{f"/{language}": parts(language) for language in NOTES},
    **{f"/{language}-copy": parts(language, "copy") for language in NOTES},
    "/unknown": html(article("unknown")),
    "/unknown-copy": html(article("unknown", frame="copy")),
    "/zh": tea(0),
    "/zh-copy": tea(0, "copy"),
    "/list": listing("Das sind die Teile, die Sie bei uns bestellen können."),
    "/short": html("<p>short</p>"),
}
LANGUAGE_SPIDERS = """
import os
from tests.support.walker import Walker
from scrapy import Request

class Language(Walker):
    name = "language"
    custom_settings = {"DEDUP_SCOPE": "language", "DEDUP_DIR": os.path.abspath("language")}

    def parse(self, response, **_):  # no link of a list is followed
        yield next(super().parse(response))

class Everything(Language):
    name = "everything"
    custom_settings = {"DEDUP_SCOPE": "global", "DEDUP_DIR": os.path.abspath("global")}
"""


@pytest.fixture(scope="module")
def by_language(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Crawl]:
    with Site(LANGUAGE_PAGES) as site:
        return run_scripts(
            tmp_path_factory.mktemp("language"), LANGUAGE_SPIDERS, site=site.url, paths=list(LANGUAGE_PAGES)
        )


def dropped(crawl: Crawl) -> dict[str, str]:
    return {drop["url"].rpartition("/")[2]: drop["duplicate_of"].rpartition("/")[2] for drop in crawl.drops}


def test_pages_of_one_language_are_compared(by_language: dict[str, Crawl]) -> None:
    copies = {"en-copy": "en", "de-copy": "de", "fr-copy": "fr", "unknown-copy": "unknown", "zh-copy": "zh"}
    assert dropped(by_language["language"]) == copies
    assert by_language["language"].paths() == ["/en", "/de", "/fr", "/unknown", "/zh", "/list", "/short"]


def test_without_the_scope_pages_of_one_language_would_be_duplicates_of_another(by_language: dict[str, Crawl]) -> None:
    assert dropped(by_language["everything"]).items() >= {"de": "en", "fr": "en"}.items()


def test_the_decision_names_the_language(by_language: dict[str, Crawl]) -> None:
    scopes = {item["path"]: item["decision"]["scope"] for item in by_language["language"].items}
    assert scopes == {
        "/en": "language en",
        "/de": "language de",
        "/fr": "language fr",
        "/unknown": "language ?",
        "/zh": "language zh",
        "/list": "language de",  # a thin page has no main text
        "/short": "language ?",
    }


# Categories of one's own

CATEGORY_SPIDERS = """
import os
import re
from tests.support.walker import Walker

def category(request, response):
    if "sport" in response.css("title::text").get(""):
        return "sport"
    return "medicine" if re.search("hospital|doctor", response.text) else "other"

def unfinished(request, response):
    if "sport" in response.url:
        return "sport"

class Categories(Walker):
    name = "categories"
    custom_settings = {"DEDUP_SCOPE": "script.category", "DEDUP_DIR": os.path.abspath("categories")}

class Unfinished(Walker):
    name = "unfinished"
    custom_settings = {"DEDUP_SCOPE": unfinished, "DEDUP_DIR": os.path.abspath("unfinished")}
"""
TEXT = paragraphs(words("category", 200))
CATEGORY_PAGES = {
    "/sport": html(f"<title>Text: sport</title><main>{TEXT}</main>"),
    "/medicine": html(f"<title>Text</title><nav>doctor</nav><main>{TEXT}</main>"),
    "/other": html(f"<title>Text</title><main>{TEXT}</main>"),
    "/other-copy": html(f"<title>Text</title><nav>copy</nav><main>{TEXT}</main>"),
    "/medicine-copy": html(f"<title>Text</title><nav>hospital</nav><main>{TEXT}</main>"),
    "/sport-copy": html(f"<title>Text: sport</title><nav>copy</nav><main>{TEXT}</main>"),
}


@pytest.fixture(scope="module")
def by_category(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Crawl]:
    with Site(CATEGORY_PAGES) as site:
        return run_scripts(
            tmp_path_factory.mktemp("categories"),
            CATEGORY_SPIDERS,
            {"DEDUP_SCHEME": "ddw"},
            site=site.url,
            paths=list(CATEGORY_PAGES),
        )


def test_a_function_of_the_project_may_look_at_the_content(by_category: dict[str, Crawl]) -> None:
    crawl = by_category["categories"]
    assert dropped(crawl) == {"other-copy": "other", "medicine-copy": "medicine", "sport-copy": "sport"}
    assert [item["decision"]["scope"] for item in crawl.items] == ["sport", "medicine", "other"]


def test_a_page_for_which_the_function_gives_no_scope_passes_unchecked(by_category: dict[str, Crawl]) -> None:
    crawl = by_category["unfinished"]
    verdicts = {item["path"]: item["decision"]["verdict"] for item in crawl.items}
    assert {path for path, verdict in verdicts.items() if verdict == "unchecked"} == {
        path for path in CATEGORY_PAGES if "sport" not in path
    }
    assert crawl.stats["dedup/error/TypeError"] == 4
    assert dropped(crawl) == {"sport-copy": "sport"}
