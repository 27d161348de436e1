"""Frames that a script fills, and pages that the server has filled."""

from dataclasses import replace

from tests.support.families.cases import Case, Family, duplicate, new, not_duplicate
from tests.support.families.pages import Page, Site, link, p, sites, table, ul
from tests.support.families.prose import heading, paragraph, paragraphs

_LEGAL = paragraph("legal", 5)
BOARD, ZHAOPIN = sites("shells")
BOARD_LEGAL = replace(BOARD, host="trade.harvest.example", footer=_LEGAL)

_LOADING = (
    '<div id="root"><div class="spinner">Loading…</div></div>'
    "<noscript>Please enable JavaScript to use this site.</noscript>"
)
_ZH_LOADING = '<div id="app">加载中，请稍候</div><noscript>请开启脚本后使用本站。</noscript>'
_OFFER = (p(*paragraphs("offer", 2)), table(("Crates", "12"), ("Price", "14.50"), ("Grower", "Hilltop")))
_ZH_JOB = p(*paragraphs("job", 2, "zh"))


def _shell(
    path: str, title: str, *, site: Site = BOARD, h1: str = "", body: str = _LOADING, head: str | None = None
) -> Page:
    return site.page(path, title, body, h1=h1, head=head)


def _state(path: str, title: str, number: int) -> Page:
    state = f'<script>window.STATE={{"offer":{{"id":{number},"name":"{heading(f"state {number}")}"}}}}</script>'
    return _shell(path, title, head="Harvest Board", body=_LOADING + state)


_FILLED = BOARD.page("/offers/77", "Early plums", *_OFFER)

# fmt: off
_CASES: tuple[Case, ...] = (
    not_duplicate("two shells", _shell("/offers/77", "Early plums"), _shell("/offers/78", "Quinces"),
        "Nobody knows what stands there."),
    not_duplicate("two shells under one title", _shell("/offers/77", "", head="Harvest Board"),
        _shell("/offers/78", "", head="Harvest Board"), "Nobody knows what stands there."),
    not_duplicate("two shells with headings", _shell("/offers/77", "Early plums", h1="Early plums"),
        _shell("/offers/78", "Quinces", h1="Quinces"), "They are two offers."),
    not_duplicate("two shells with headings under one title",
        _shell("/offers/77", "", h1="Early plums", head="Harvest Board"),
        _shell("/offers/78", "", h1="Quinces", head="Harvest Board"), "They are two offers."),
    not_duplicate("two shells above long terms", _shell("/offers/77", "Early plums", site=BOARD_LEGAL),
        _shell("/offers/78", "Quinces", site=BOARD_LEGAL), "The terms say nothing of either."),
    not_duplicate("two shells above long terms under one title",
        _shell("/offers/77", "", head="Harvest Board", site=BOARD_LEGAL),
        _shell("/offers/78", "", head="Harvest Board", site=BOARD_LEGAL), "The terms say nothing of either."),
    not_duplicate("two shells whose content stands in a script", _state("/offers/77", "", 77),
        _state("/offers/78", "", 78), "The scripts hold two offers."),
    new("a filled page after its shell", _shell("/offers/77?_escaped", "Early plums", h1="Early plums"), _FILLED,
        "The shell says nothing."),
    duplicate("a filled page by two routes", _FILLED, BOARD.page("/growers/hilltop/77", "Early plums", *_OFFER),
        "It is the same offer."),
    duplicate("a filled page with a query", _FILLED, BOARD.page("/offers/77?tab=photos", "Early plums", *_OFFER),
        "It is the same offer."),
    new("two filled pages above long terms",
        BOARD_LEGAL.page("/offers/90", "Chestnuts",
            p("Two sacks, dried, from a single tree. Ask for Odile at the mill.")),
        BOARD_LEGAL.page("/offers/91", "Medlars",
            p("One crate, picked after the frost and not yet soft; they keep until Christmas.")),
        "They are two offers."),
    not_duplicate("两个空壳", _shell("/job/31", "木工", site=ZHAOPIN, body=_ZH_LOADING),
        _shell("/job/32", "瓦工", site=ZHAOPIN, body=_ZH_LOADING), "Nobody knows what stands there."),
    duplicate("渲染后的同一招工", ZHAOPIN.page("/job/31", "招木工两名", _ZH_JOB),
        ZHAOPIN.page("/zhaogong/mugong/31", "招木工两名", _ZH_JOB), "It is the same job."),
)
# fmt: on


def _make_other_pages() -> list[Page]:
    pages = []
    for site in (BOARD, BOARD_LEGAL, ZHAOPIN):
        for number in range(20):
            name = f"{site.host} {number}"
            text = p(paragraph(name, 4, site.lang))
            appended = ul(
                *[link(f"/offers/{800 + number + at}", heading(f"{name} {at}", site.lang)) for at in range(3)]
            )
            pages.append(site.page(f"/offers/{600 + number}", heading(name, site.lang), text, appended))
    return pages


SHELLS = Family("shells", _CASES, _make_other_pages)
