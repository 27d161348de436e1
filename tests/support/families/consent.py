"""Pages below a long notice that asks for consent."""

from tests.support.families.cases import Case, Family, duplicate, new, not_duplicate
from tests.support.families.pages import Page, p, sites
from tests.support.families.prose import heading, paragraph, paragraphs, read_text

_NOTICE = read_text("consent").splitlines()
_NOTICE_DE = read_text("consent in German").splitlines()
_NOTICE_ZH = paragraphs("notice zh", 2, "zh")
PAPER, WANBAO = sites("consent")


def _wall(*paragraphs: str, heading: str = "Your privacy") -> str:
    """Return the notice, which is shown above the page."""
    return f'<div role="dialog"><h2>{heading}</h2>{p(*paragraphs)}<button>Accept</button><button>Refuse</button></div>'


_ABOVE, _ABOVE_DE, _ABOVE_ZH = (
    _wall(*_NOTICE),
    _wall(*_NOTICE_DE, heading="Ihre Privatsphäre"),
    _wall(*_NOTICE_ZH, heading="隐私声明"),
)

_SWANS = paragraph("swans", 2)
_CLOCK = paragraph("clock", 3)
_TRAM = paragraphs("tram", 3)
_SWIM = paragraphs("swim", 2)
_ZH_SWANS = "护城河里的天鹅有一位退休牙医照看。他每天七点带生菜来，说面包会伤翅膀，还写信请园林局立一块牌子。"
_ZH_CLOCK = "消防站的大钟又慢了十一分钟。零件要用手工车床加工，全城只有一台够小的车床，放在暑假停课的职业学校里。"
_ZH_TRAM = paragraphs("tram", 2, "zh")


def _article(path: str, title: str, *text: str, above: str = _ABOVE) -> Page:
    return PAPER.page(path, title, p(*text), above=above, crumbs=("City",))


def _zh(path: str, title: str, *text: str, above: str = _ABOVE_ZH) -> Page:
    return WANBAO.page(path, title, p(*text), above=above, crumbs=("城事",))


def _only_wall(path: str) -> Page:
    url = f"https://www.evening.example{path}"
    return Page(
        url,
        f"<!doctype html><html><head><title>Before you continue</title></head><body>{_ABOVE}<a "
        f"href='/privacy'>Privacy policy</a></body></html>",
    )


# fmt: off
_CASES: tuple[Case, ...] = (
    new("two short articles", _article("/city/1", "Who feeds the swans?", _SWANS),
        _article("/city/2", "Eleven minutes late", _CLOCK), "The notice says nothing of either."),
    new("two short articles under one title", _article("/city/1", "In brief", _SWANS),
        _article("/city/2", "In brief", _CLOCK), "The notice says nothing of either."),
    new("two long articles", _article("/city/3", "Trams to the hospital", *_TRAM),
        _article("/city/4", "Swimmers at dawn", *_SWIM), "They are two articles."),
    duplicate("a long article twice", _article("/city/3", "Trams to the hospital", *_TRAM),
        _article("/city/3?ref=push", "Trams to the hospital", *_TRAM), "It is the same article."),
    duplicate("a short article twice", _article("/city/1", "Who feeds the swans?", _SWANS),
        _article("/stage/1", "Who feeds the swans?", _SWANS), "It is the same article."),
    duplicate("an article without its notice", _article("/city/3", "Trams to the hospital", *_TRAM),
        _article("/city/3?consent=1", "Trams to the hospital", *_TRAM, above=""),
        "All of it stands below the notice."),
    duplicate("an article with a notice", _article("/city/3?consent=1", "Trams to the hospital", *_TRAM, above=""),
        _article("/city/3", "Trams to the hospital", *_TRAM), "The notice is no part of the article.",
        needs_site=True),
    duplicate("a notice in another language", _article("/city/3", "Trams to the hospital", *_TRAM),
        _article("/city/3?geo=de", "Trams to the hospital", *_TRAM, above=_ABOVE_DE),
        "The notice is no part of the article.", needs_site=True),
    duplicate("nothing but the notice, twice", _only_wall("/consent?to=/city/1"), _only_wall("/consent?to=/city/2"),
        "Both say the same, and neither shows an article."),
    new("an article after the notice alone", _only_wall("/consent?to=/city/1"),
        _article("/city/1", "Who feeds the swans?", _SWANS), "The article stands nowhere else."),
    duplicate("the policy itself under two addresses", PAPER.page("/privacy", "Privacy policy", p(*_NOTICE)),
        PAPER.page("/legal/privacy", "Privacy policy", p(*_NOTICE)), "It is the same policy."),
    not_duplicate("the policy itself after an article below it", _article("/city/1", "Who feeds the swans?", _SWANS),
        PAPER.page("/privacy", "Privacy policy", p(*_NOTICE)), "Here the text is what the page is about."),
    new("两篇短文", _zh("/a/1", "谁在喂天鹅", _ZH_SWANS), _zh("/a/2", "慢了十一分钟", _ZH_CLOCK),
        "The notice says nothing of either."),
    new("同题的两篇短文", _zh("/a/1", "简讯", _ZH_SWANS), _zh("/a/2", "简讯", _ZH_CLOCK),
        "The notice says nothing of either."),
    duplicate("同一篇文章", _zh("/a/3", "电车通到医院", *_ZH_TRAM), _zh("/a/3?share=1", "电车通到医院", *_ZH_TRAM),
        "It is the same article."),
)
# fmt: on


def _make_other_pages() -> list[Page]:
    pages = []
    for number in range(28):
        name = f"evening {number}"
        above = _ABOVE_DE if number % 7 == 0 else _ABOVE
        pages.append(
            _article(
                f"/city/{600 + number}",
                heading(name),
                paragraph(name, 4),
                paragraph(f"{name} end", number % 3),
                above=above,
            )
        )
    texts = [(number, f"晚 {number}") for number in range(20)]
    chinese = [_zh(f"/a/{600 + at}", heading(name, "zh"), paragraph(name, 3 + at % 4, "zh")) for at, name in texts]
    return pages + chinese


CONSENT = Family("consent walls", _CASES, _make_other_pages)
