"""Real crawls in which pages are compared within a scope that their address or content gives."""

from pathlib import Path

from tests.support.chinese import chinese
from tests.support.crawling import WALK, Answer, Site, article, crawl_pages, html, paragraphs, run_script, words


def test_the_scope_domain_is_the_registered_domain(tmp_path: Path) -> None:
    """Equal pages of several hosts are served through a proxy."""
    urls = ["http://www.one.co.uk/de/a", "http://shop.one.co.uk/en/b", "http://www.two.co.uk/de/c"]
    pages = {url: html(article("same", frame=url)) for url in urls}
    with Site(pages) as site:
        meta = {key: {"proxy": site.url} for key in urls}
        crawl = run_script(tmp_path, WALK, {"DEDUP_SCOPE": "domain"}, site="", paths=urls, meta=meta)
    assert crawl.paths() == ["/de/a", "/de/c"]
    assert [item["decision"]["scope"] for item in crawl.items] == ["domain one.co.uk", "domain two.co.uk"]
    assert [drop["url"] for drop in crawl.drops] == ["http://shop.one.co.uk/en/b"]


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


def tea(frame: str = "") -> Answer:
    return html(f"<title>茶</title><nav>{frame}</nav><main><p>{chinese(0)}</p></main>")


def listing(note: str) -> Answer:
    """Return a thin page: short links, and a few words."""
    links = "".join(f'<li><a href="/{word}">{word}</a></li>' for word in words("listing", 12))
    return html(f"<title>Listing</title><p>{note}</p><ul>{links}</ul>")


def test_pages_of_one_language_are_compared_and_those_of_others_would_be_dropped_without_the_scope(
    tmp_path: Path,
) -> None:
    pages = {
        **{f"/{language}": parts(language) for language in NOTES},
        **{f"/{language}-copy": parts(language, "copy") for language in NOTES},
        "/unknown": html(article("unknown")),
        "/unknown-copy": html(article("unknown", frame="copy")),
        "/zh": tea(),
        "/zh-copy": tea("copy"),
        "/list": listing("Das sind die Teile, die Sie bei uns bestellen können."),
        "/short": html("<p>short</p>"),
    }
    crawls = {
        scope: crawl_pages(tmp_path / scope, pages, settings={"DEDUP_SCOPE": scope}, follows=False)
        for scope in ("language", "global")
    }
    copies = {f"/{name}-copy": f"/{name}" for name in (*NOTES, "unknown", "zh")}
    assert crawls["language"].dropped() == copies
    assert {item["path"]: item["decision"]["scope"] for item in crawls["language"].items} == {
        "/en": "language en",
        "/de": "language de",
        "/fr": "language fr",
        "/unknown": "language ?",
        "/zh": "language zh",
        "/list": "language de",  # a thin page has no main text
        "/short": "language ?",
    }
    assert crawls["global"].dropped().items() >= {"/de": "/en", "/fr": "/en"}.items()


CATEGORY_SPIDER = """
import re
from tests.support.walker import Walker

def category(request, response):
    if "sport" in response.css("title::text").get(""):
        return "sport"
    if re.search("hospital|doctor", response.text):
        return "medicine"

class Spider(Walker):
    pass
"""


def test_a_function_of_the_project_may_look_at_the_content_and_a_page_without_a_scope_passes_unchecked(
    tmp_path: Path,
) -> None:
    text = paragraphs(words("category", 200))
    pages = {
        "/sport": html(f"<title>Text: sport</title><main>{text}</main>"),
        "/medicine": html(f"<title>Text</title><nav>doctor</nav><main>{text}</main>"),
        "/other": html(f"<title>Text</title><main>{text}</main>"),
        "/medicine-copy": html(f"<title>Text</title><nav>hospital</nav><main>{text}</main>"),
        "/sport-copy": html(f"<title>Text: sport</title><nav>copy</nav><main>{text}</main>"),
    }
    crawl = crawl_pages(tmp_path, pages, CATEGORY_SPIDER, {"DEDUP_SCHEME": "ddw", "DEDUP_SCOPE": "script.category"})
    assert crawl.dropped() == {"/medicine-copy": "/medicine", "/sport-copy": "/sport"}
    decisions = [(item["decision"]["scope"], item["verdict"]) for item in crawl.items]
    assert decisions == [("sport", "new"), ("medicine", "new"), ("", "unchecked")]
    assert crawl.counts("error/") == {"TypeError": 1}
    # Another scheme than simhash measures no distance.
    assert ", scheme ddw, tokenizer bigrams, scope script.category, action drop" in crawl.log
    assert not crawl.counts("distance/")
    assert {(drop["match"]["distance"], drop["match"]["resemblance"]) for drop in crawl.drops} == {(None, 1.0)}


EIGHT_SCOPES_SPIDER = """
from tests.support.walker import Walker

class Spider(Walker):
    async def start(self):
        for scope in range(8):
            for path in self.paths:
                yield self.request(path, meta={"dedup_scope": str(scope)})
"""


def test_a_copy_is_dropped_once_in_each_scope_in_which_it_is_requested(tmp_path: Path) -> None:
    pages = {path: html(article("same", frame=path)) for path in ("/first", "/copy")}
    crawl = crawl_pages(tmp_path, pages, EIGHT_SCOPES_SPIDER)
    assert [(item["path"], item["verdict"]) for item in crawl.items] == [("/first", "new")] * 8
    assert [drop["scope"] for drop in crawl.drops] == [str(scope) for scope in range(8)]
