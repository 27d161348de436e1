"""Results of searches."""

from tests.support.families.cases import Case, Family, duplicate, new
from tests.support.families.pages import Page, Site, link, p, pager, sites, teaser
from tests.support.families.prose import heading, paragraph

LIBRARY, ARCHIVE, TUSHU = sites("search")


def _results(
    path: str, query: str, numbers: range | list[int], *, site: Site = LIBRARY, pages: int = 0, total: int = 0
) -> Page:
    lang = site.lang
    hits = [
        teaser(f"/item/{number}", heading(f"{site.host} {number}", lang), paragraph(f"{site.host} {number}", 1, lang))
        for number in numbers
    ]
    count = f"共 {total or len(numbers)} 条结果" if lang == "zh" else f"{total or len(numbers)} results"
    title = f"搜索：{query}" if lang == "zh" else f"Search results for “{query}”"
    return site.page(path, title, p(count), *hits, pager(path.split("&page", maxsplit=1)[0], pages) if pages else "")


def _nothing(path: str, query: str) -> Page:
    text = (
        "We have searched titles, authors and subjects of all branches. Check the spelling, use fewer words, or ask a "
        "librarian."
    )
    return LIBRARY.page(
        path, "No results", p(f"Nothing was found for “{query}”.", text), link("/ask", "Ask a librarian")
    )


_ITEM = LIBRARY.page(
    "/item/41", heading("library.example 41"), p(paragraph("library.example 41", 1), paragraph("item 41", 5))
)

# fmt: off
_CASES: tuple[Case, ...] = (
    new("second page of the results", _results("/search?q=bridges", "bridges", range(1, 11), pages=4, total=38),
        _results("/search?q=bridges&page=2", "bridges", range(11, 21), pages=4, total=38), "It leads to other items."),
    new("results of another search", _results("/search?q=bridges", "bridges", range(1, 9)),
        _results("/search?q=locks", "locks", range(51, 59)), "It leads to other items."),
    new("one more result", _results("/search?q=bridges", "bridges", range(1, 9)),
        _results("/search?q=bridges&all=1", "bridges", range(1, 10)),
        "One link leads to an item that the other page does not have."),
    duplicate("one result less", _results("/search?q=bridges&all=1", "bridges", range(1, 10), total=9),
        _results("/search?q=bridges", "bridges", range(1, 9), total=9), "The kept page has all of it."),
    duplicate("results with the number of a session", _results("/search?q=bridges", "bridges", range(1, 9)),
        _results("/search?q=bridges&sid=77ab1", "bridges", range(1, 9)), "They are the same results."),
    duplicate("results sorted by date", _results("/search?q=bridges", "bridges", range(1, 9)),
        _results("/search?q=bridges&sort=date", "bridges", [5, 2, 8, 1, 3, 7, 6, 4]),
        "They are the same results in another order."),
    duplicate("nothing found, twice", _nothing("/search?q=xyzzy", "xyzzy"), _nothing("/search?q=plugh", "plugh"),
        "Neither has anything."),
    new("nothing found, and something", _nothing("/search?q=xyzzy", "xyzzy"),
        _results("/search?q=locks", "locks", range(51, 53)), "It leads to two items."),
    new("second pages on two hosts", _results("/search?q=bridges&page=2", "bridges", range(11, 21), pages=4, total=38),
        _results("/search?q=bridges&page=2", "bridges", range(11, 21), site=ARCHIVE, pages=4, total=38),
        "Another collection has answered."),
    new("an item after results that show a sentence of it", _results("/search?q=bridges", "bridges", range(40, 48)),
        _ITEM, "The item says more."),
    new("results after one of their items", _ITEM, _results("/search?q=bridges", "bridges", range(40, 48)),
        "They lead to seven other items."),
    new("搜索结果第二页", _results("/s?q=qiao", "桥", range(1, 9), site=TUSHU, pages=3, total=24),
        _results("/s?q=qiao&page=2", "桥", range(9, 17), site=TUSHU, pages=3, total=24), "It leads to other items."),
    duplicate("搜索结果带来源", _results("/s?q=qiao", "桥", range(1, 9), site=TUSHU),
        _results("/s?q=qiao&from=top", "桥", range(1, 9), site=TUSHU), "They are the same results."),
)
# fmt: on


def _make_other_pages() -> list[Page]:
    pages = []
    for site, words in ((LIBRARY, "abcdefghij"), (ARCHIVE, "abcdefghij"), (TUSHU, "abcdefghij")):
        for number, word in enumerate(words):
            name, start = f"{site.host} other {number}", 1000 + 10 * number
            pages.append(
                _results(f"/search?q={word}", f"{word}{number}", range(start, start + 8), site=site, total=8 + number)
            )
            pages.append(site.page(f"/item/{500 + number}", heading(name, site.lang), p(paragraph(name, 6, site.lang))))
    return pages


SEARCH = Family("search", _CASES, _make_other_pages)
