"""Products of a shop, their variants, and the addresses that lead to them."""

from tests.support.families.cases import Case, Family, duplicate, new, part_and_whole
from tests.support.families.pages import Page, h2, link, links, p, read_posts, sites, table, ul
from tests.support.families.prose import heading, paragraph, paragraphs

_DELIVERY = paragraphs("delivery", 2)
SHOP, TEA = sites("products")


def _product(
    path: str, name: str, price: str, *main: str, head: str | None = None, side: str | None = None, crumb: str = "Ropes"
) -> Page:
    body = (
        p(f"€ {price} – in stock"),
        *main,
        "<form><button>Add to basket</button></form>",
        h2("Delivery"),
        p(*_DELIVERY),
    )
    return SHOP.page(path, name, *body, head=head, side=side, crumbs=(crumb,))


_ROPE = p(*paragraphs("rope", 2))
_ROPES = "Alpine ropes – Bowline Outfitters"
_JACKET = p(paragraph("jacket", 3))
_LAMP = paragraphs("lamp", 2)
_REVIEWS = read_posts("reviews of a lamp")


def _lamp(path: str, *appended: str, side: str | None = None, crumb: str = "Lamps") -> Page:
    return _product(path, "Storm lamp Vega", "48.00", p(*_LAMP), *appended, side=side, crumb=crumb)


def _stove(number: int, name: str, power: str, weight: str, boils: str, tank: str, burns: str) -> Page:
    rows = (("Power", power), ("Weight", weight), ("One litre boils in", boils), ("Tank", tank), ("Burns for", burns))
    text = p(paragraph("stove", 2))
    return _product(
        f"/p/{number}",
        name,
        "119.00",
        text,
        table(*rows),
        head="Expedition stoves – Bowline Outfitters",
        crumb="Stoves",
    )


def _bag(number: int, name: str, text: str) -> Page:
    return _product(f"/p/{number}", name, "19.00", p(text), crumb="Sale")


_TEA_TEXT = paragraphs("tea text", 2, "zh")


def _tea(path: str, name: str, price: str, weight: str, side: str | None = None) -> Page:
    return TEA.page(
        path,
        name,
        p(f"￥{price} 有货"),
        p(*_TEA_TEXT),
        table(("净含量", weight), ("产地", "浙江新昌")),
        side=side,
        crumbs=("绿茶",),
    )


# fmt: off
_CASES: tuple[Case, ...] = (
    new("two lengths under one generic title",
        _product("/p/201", "Alpine rope 8.6 mm, 30 m", "94.00", _ROPE, head=_ROPES),
        _product("/p/202", "Alpine rope 8.6 mm, 60 m", "179.00", _ROPE, head=_ROPES),
        "They are two articles of the shop, with two prices."),
    new("two sizes named in the title",
        _product("/p/301", "Harbour jacket, men, L", "240.00", _JACKET, crumb="Clothing"),
        _product("/p/302", "Harbour jacket, women, S", "220.00", _JACKET, crumb="Clothing"),
        "They are two articles of the shop, with two prices."),
    duplicate("a colour chosen by the address",
        _product("/p/310", "Deck shirt", "65.00", _JACKET, ul("Navy", "Rust", "Moss"), crumb="Clothing"),
        _product("/p/310?colour=rust", "Deck shirt", "65.00", _JACKET, ul("Navy", "<b>Rust</b>", "Moss"),
            crumb="Clothing"), "All colours stand on both, and nothing else differs."),
    duplicate("one lamp in two categories", _lamp("/lamps/vega"), _lamp("/sale/vega", crumb="Sale"),
        "Only the path of categories differs."),
    duplicate("other recommendations at the side", _lamp("/lamps/vega"),
        _lamp("/lamps/vega?ref=mail",
            side=links("Others bought", p_31="Lamp oil", p_32="Spare wick", p_33="Brass hook")),
        "What others bought is no part of the lamp.", needs_site=True),
    new("two short descriptions above the same terms of delivery",
        _bag(401, "Dry bag, 12 litres", "Roll it three times and it floats. Seams welded, not glued."),
        _bag(402, "Fishing net float", "Cork, turned by hand, with a hole for lines of up to nine millimetres."),
        "The terms say nothing of either article."),
    new("two models whose tables differ",
        _stove(501, "Expedition stove Alpha", "2.1 kW", "340 g", "4.5 min", "0.35 l", "75 min"),
        _stove(502, "Expedition stove Beta", "3.4 kW", "610 g", "2.8 min", "0.80 l", "110 min"),
        "All figures differ."),
    *part_and_whole("without and with reviews", _lamp("/lamps/vega"),
        _lamp("/lamps/vega/reviews", h2("Reviews"), *_REVIEWS), "The page with reviews has all of the other one."),
    new("a lamp and the category that shows it among others", _lamp("/lamps/vega"),
        SHOP.page("/lamps/", "Lamps", p(_LAMP[0]),
            ul(*[f"{link(f'/p/{number}', heading(f'lamp {number}'))} € {number}.00" for number in range(40, 64)]),
            h2("Delivery"), p(*_DELIVERY)), "Its links lead to two dozen lamps."),
    new("一百克与二百五十克", _tea("/p/21", "明前龙井 100克 罐装", "168.00", "100克"),
        _tea("/p/22", "明前龙井 250克 礼盒", "388.00", "250克"), "Two articles of a Chinese shop, with two prices."),
    duplicate("首页来的同一商品", _tea("/p/21", "明前龙井 100克 罐装", "168.00", "100克"),
        _tea("/p/21?from=home", "明前龙井 100克 罐装", "168.00", "100克",
            side=links("看过的人还买", p_41="竹茶则", p_42="茶巾")), "What others bought is no part of the tea.",
        needs_site=True),
)
# fmt: on


def _make_other_pages() -> list[Page]:
    pages = [
        _product(
            f"/p/{700 + number}", heading(f"product {number}"), f"{number + 7}.50", p(paragraph(f"product {number}", 3))
        )
        for number in range(26)
    ]
    for number in range(20):
        text = p(paragraph(f"商品 {number}", 4, "zh"))
        pages.append(
            TEA.page(f"/p/{700 + number}", heading(f"商品 {number}", "zh"), p(f"￥{number + 30}.00 有货"), text)
        )
    return pages


PRODUCTS = Family("products", _CASES, _make_other_pages)
