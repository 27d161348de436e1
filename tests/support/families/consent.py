"""Pages below a long notice that asks for consent."""

from __future__ import annotations

from tests.support.families.cases import Case, Family, duplicate, new, not_duplicate
from tests.support.families.pages import Page, Site, links, p
from tests.support.families.prose import heading, paragraph, paragraphs

_NOTICE = (
    "We and our 147 partners store information on your device, such as cookies and identifiers, and process personal "
    "data in order to show you advertisements and articles that suit you, to measure how they are used, to learn what "
    "our readers have in common, and to improve our products. With your permission we may use precise geolocation and "
    "identification by scanning the device.",
    "You may accept this, refuse it, or look at the details and change your preferences before you go on. Some "
    "processing does not need your consent, but you have a right to object to it. Your choice holds for this site only. "
    "You can change your mind at any time by coming back here or by opening the privacy policy at the end of every "
    "page.",
    "Strictly necessary: the site does not work without these. Statistics: they help us to understand how readers move "
    "from page to page. Personalisation: they remember what you have read, so that you are not shown it again. "
    "Marketing: they follow you to other sites and tell advertisers what you might want to buy. Social media: they let "
    "you share what you like.",
    "If you are under 16 years old and wish to give consent to optional services, you must ask your legal guardians for "
    "permission. Data may be processed in countries without an adequate level of protection, where authorities can read "
    "them for purposes of control and surveillance, possibly without any legal remedy. There is no obligation to "
    "consent.",
)
_NOTICE_DE = (
    "Wir und unsere 147 Partner speichern Informationen auf Ihrem Gerät, etwa Cookies und Kennungen, und verarbeiten "
    "personenbezogene Daten, um Ihnen passende Anzeigen und Artikel zu zeigen, deren Nutzung zu messen, Erkenntnisse "
    "über unsere Leserinnen und Leser zu gewinnen und unsere Angebote zu verbessern. Mit Ihrer Erlaubnis nutzen wir "
    "genaue Standortdaten.",
    "Sie können zustimmen, ablehnen oder Einzelheiten ansehen und Ihre Auswahl ändern, bevor Sie fortfahren. Manche "
    "Verarbeitung braucht keine Zustimmung, doch Sie dürfen widersprechen. Ihre Auswahl gilt nur für diese Seite und "
    "lässt sich jederzeit am Ende jeder Seite widerrufen. Wer unter 16 Jahre alt ist, muss die Erziehungsberechtigten "
    "um Erlaubnis bitten.",
)
_NOTICE_ZH = paragraphs("notice zh", 2, "zh")
PAPER = Site(
    "www.evening.example",
    "Evening Lantern",
    ("News", "City", "Sport", "Stage", "Jobs"),
    side=links("Read now", n_1="Trams to the hospital", n_2="Swimmers at dawn", n_3="Who feeds the swans?"),
    footer="Evening Lantern. Privacy policy, imprint and terms.",
)
WANBAO = Site(
    "www.wanbao.example",
    "晚灯报",
    ("新闻", "城事", "体育", "舞台"),
    side=links("正在看", n_1="电车通到医院", n_2="清晨的泳者"),
    footer="晚灯报。隐私政策与使用条款。",
    lang="zh",
)


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
