"""Domains without a site: parked domains, and the page that a server shows before anybody has written a page."""

from tests.support.families.cases import Case, Family, duplicate, new, not_duplicate
from tests.support.families.pages import Page, link, p, ul
from tests.support.families.prose import heading, paragraph, read_text

_SALE = read_text("domain").splitlines()
_RELATED = ("Hotels", "Flights", "Car hire", "Insurance", "Loans", "Shoes", "Web hosting", "Dentists")
_OTHER_RELATED = ("Garden sheds", "Lawn mowers", "Greenhouses", "Rose bushes", "Fencing", "Compost", "Paving", "Ponds")


def _plain(host: str, path: str, title: str, *main: str, lang: str = "en") -> Page:
    return Page(
        f"http://{host}{path}",
        f'<!doctype html><html lang="{lang}"><head><meta charset="utf-8">'
        f"<title>{title}</title></head><body>{''.join(main)}</body></html>",
    )


def _parked(host: str, title: str, *appended: str, related: tuple[str, ...] = ()) -> Page:
    searches = ul(*[link(f"http://ads.parking.example/click?q={name.replace(' ', '+')}", name) for name in related])
    inquire = link("http://broker.parking.example/offer", "Make an offer")
    return _plain(
        host, "/", title, p(*_SALE), *appended, inquire, "<h2>Related searches</h2>" + searches if related else ""
    )


def _nginx(host: str) -> Page:
    return _plain(
        host,
        "/",
        "Welcome to nginx!",
        "<h1>Welcome to nginx!</h1>",
        p(
            "If you see this page, the web server is installed and working on this machine. It has no site yet; further "
            "configuration is required before visitors find anything here.",
            f"Documentation and support are at {link('http://nginx.example/', 'the project')}. Commercial support "
            f"can be bought.",
        ),
    )


def _folder(path: str, names: list[str]) -> Page:
    head = link("?C=N;O=D", "Name") + link("?C=M;O=A", "Last modified") + link("?C=S;O=A", "Size")
    folder = path.split("?", maxsplit=1)[0]
    rows = "\n".join(
        f"{link(folder + name, name)}  2019-03-{len(name):02d} 10:{len(name)}  {len(name) * 3}K" for name in names
    )
    return _plain("files.example", path, f"Index of {folder}", f"<h1>Index of {folder}</h1><pre>{head}\n{rows}</pre>")


_SCANS = [f"scan-{name}.tif" for name in ("attic", "barn", "cellar", "dairy", "eaves", "forge", "gate", "hall")]
_DRAFTS = [
    f"draft-{name}.pdf" for name in ("anchor", "beacon", "compass", "davit", "ensign", "fender", "gaff", "halyard")
]
_ZH_SALE = p(*read_text("domain in Chinese").splitlines())


def _zh_parked(host: str) -> Page:
    return _plain(host, "/", "域名出售", _ZH_SALE, link("http://broker.parking.example/zh", "联系经纪人"), lang="zh")


# fmt: off
_CASES: tuple[Case, ...] = (
    duplicate("parked, twice", _parked("bluekettle.example", "Domain parking"),
        _parked("sevenoaks.example", "Domain parking"), "Both say the same."),
    duplicate("parked, with its name as the title", _parked("bluekettle.example", "bluekettle.example"),
        _parked("sevenoaks.example", "sevenoaks.example"), "Nothing but the name differs, and that is the address."),
    duplicate("parked, with its name in the text",
        _parked("bluekettle.example", "Domain parking", p("Ask for bluekettle.example.")),
        _parked("sevenoaks.example", "Domain parking", p("Ask for sevenoaks.example.")),
        "Nothing but the name differs, and that is the address."),
    duplicate("parked under two addresses", _parked("bluekettle.example", "bluekettle.example"),
        _parked("www.bluekettle.example", "bluekettle.example"), "Both say the same."),
    not_duplicate("parked between other searches", _parked("bluekettle.example", "Domain parking", related=_RELATED),
        _parked("greenhouse.example", "Domain parking", related=_OTHER_RELATED),
        "They lead to pages that nobody has seen."),
    duplicate("parked between the same searches", _parked("bluekettle.example", "Domain parking", related=_RELATED),
        _parked("sevenoaks.example", "Domain parking", related=_RELATED), "Both say the same and lead to the same."),
    new("parked, and a site that has come alive", _parked("bluekettle.example", "bluekettle.example"),
        _plain("bluekettle.example", "/home", "bluekettle.example", "<h1>Blue Kettle</h1>", p(paragraph("kettle", 4)),
            link("/menu", "Menu")), "The second page says something."),
    duplicate("a server without a site, twice", _nginx("10-0-0-7.host.example"), _nginx("staging.firm.example"),
        "Both say the same."),
    new("two folders", _folder("/scans/", _SCANS), _folder("/drafts/", _DRAFTS), "They lead to other files."),
    duplicate("a folder sorted the other way", _folder("/scans/", _SCANS), _folder("/scans/?C=N;O=D", _SCANS[::-1]),
        "They are the same files."),
    not_duplicate("two doors",
        _plain("one.example", "/", "Welcome",
            p("Welcome to our home page. Click below to enter the site; it looks best on a large screen."),
            link("/index2.html", "Enter")),
        _plain("two.example", "/", "Welcome",
            p("Welcome to our home page. Click below to enter the site; it looks best on a large screen."),
            link("/start/main.html", "Enter")), "Behind them are two sites that nobody has seen."),
    duplicate("域名出售", _zh_parked("lanhu.example"), _zh_parked("qishu.example"), "Both say the same, in Chinese."),
)
# fmt: on


def _make_other_pages() -> list[Page]:
    hosts = ("bluekettle.example", "sevenoaks.example", "files.example")
    return [
        _plain(
            host,
            f"/old/{number}",
            heading(f"{host} {number}"),
            f"<h1>{heading(f'{host} {number}')}</h1>",
            p(paragraph(f"{host} {number}", 5)),
            link("/old/", "Index"),
        )
        for host in hosts
        for number in range(20)
    ]


PARKED = Family("parked domains", _CASES, _make_other_pages)
