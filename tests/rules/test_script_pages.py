"""Pages that a script fills: none is lost, whatever text surrounds the place where the script shows their content."""

import itertools
import json
from base64 import b64encode
from collections.abc import Callable
from html import escape
from urllib.parse import quote

import pytest

from crawler_dedup import Verdict
from crawler_dedup.signedpage import PageKind
from tests.support.cases import read_cases
from tests.support.crawling import paragraphs, words
from tests.support.sitepages import MENU, SITE, Crawl, is_duplicate, knowing, page, story

CONSENT = paragraphs(words("consent", 60))
NOTE = "<p>All prices include taxes</p>"


def sentences(name: object, count: int) -> str:
    return " ".join(words(name, count)).capitalize()


def product(name: str, price: float = 7.5, **others: object) -> str:
    return json.dumps({"props": {"name": name, "price": price, "text": sentences(name, 90), **others}})


def shell(content: str, text: str = CONSENT) -> str:
    """Return a page that shows a menu and a text, and has the *content* of scripts."""
    return page(SITE, f"{text}<section></section>{content}", MENU)


def shown_of(data: str) -> str:
    """Return what a script shows of a product."""
    props = json.loads(data)["props"]
    return " ".join([str(props.get(name)) for name in ("name", "price", "stock", "text")])


def xml_of(data: str) -> str:
    """Return the values of a product as elements."""
    values = json.loads(data)["props"].items()
    elements = "".join(f"<{name}>{escape(str(value))}</{name}>" for name, value in values)
    return f"<script type='application/xml'><?xml version='1.0'?><product>{elements}</product></script>"


FORMS: dict[str, Callable[[str], str]] = {
    "JSON": "<script type='application/json'>{}</script>".format,
    "XML": xml_of,
    "behind the end of the page": "</body></html><script type='application/json'>{}</script>".format,
    "linked data": "<script type='application/ld+json'>{}</script>".format,
    "assignment": "<script>window.__APOLLO_STATE__ = {};</script>".format,
    "call with a string": lambda data: f"<script>self.__next_f.push([1,{json.dumps('4:' + data)}])</script>",
    "text that is parsed": lambda data: f"<script>window.state = JSON.parse({json.dumps(data)})</script>",
    "attribute": lambda data: f'<div data-page="{escape(data)}"></div>',
    "text with encoded quotation marks": lambda data: (
        f"<script>start(JSON.parse('{data.replace(chr(34), chr(92) + 'x22')}'))</script>"
    ),
    "text as in addresses": lambda data: f"<script>start(decodeURIComponent('{quote(data)}'))</script>",
    "base64": lambda data: f"<script>start(atob('{b64encode(data.encode()).decode()}'))</script>",
    "template": lambda data: f"<script>show(`<p>{shown_of(data)}</p>`)</script>",
    "JSON with entities": lambda data: f"<script type='application/json'>{escape(data)}</script>",
    "other type of JSON": "<script type='fastboot/shoebox'>{}</script>".format,
    "other type of program": "<script type='text/ecmascript'>state = {}</script>".format,
    "argument in an attribute": lambda data: f'<div x-data="product({escape(data)})"></div>',
    "base64 in an attribute": lambda data: f"<div data-state='{b64encode(data.encode()).decode()}'></div>",
    "attribute of an element of its own": lambda data: f"<product-page :product='{escape(data)}'></product-page>",
    "text in an attribute of such an element": lambda data: f'<product-page text="{shown_of(data)}"></product-page>',
    "comment": "<code><!--{}--></code>".format,
    "behind a long program": lambda data: f"<script>{'a[0]=b;' * 20_000}</script><script>state = {data}</script>",
}


@pytest.mark.parametrize("text", [NOTE, CONSENT], ids=["thin", "text"])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@knowing
def test_pages_that_differ_only_in_data_are_all_kept(crawl: Crawl, form: Callable[[str], str], text: str) -> None:
    assert crawl.kind(shell(form(product("lamp")), text)) is (PageKind.TEXT if text == CONSENT else PageKind.THIN)
    lamps = product("lamp"), product("lamp", 8), product("lamp", stock=0), product("lamp", stock="../2.json")
    for number, data in enumerate((*lamps, product("chair"))):
        assert crawl.check(f"/{number}", shell(form(data), text)).verdict is Verdict.NEW


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@knowing
def test_what_each_answer_has_of_its_own_does_not_make_another_page(crawl: Crawl, form: Callable[[str], str]) -> None:
    answers = [
        product("lamp", csrfToken=f"{number}", serverTime=1700000000 + number, etag=f"{number:016x}", path=f"/{number}")
        for number in range(2)
    ]
    crawl.check("/0", shell(form(answers[0])))
    assert is_duplicate(crawl.check("/1", shell(form(answers[1]))), "http://h/0")


def test_arguments_of_a_function_are_data(crawl: Crawl) -> None:
    for number, name in enumerate(("lamp", "chair")):
        arguments = f"({json.dumps(name)},{json.dumps(sentences(name, 90))})"
        script = f"<script>window.__NUXT__=(function(a,b){{return {{data:[{{name:a,text:b}}]}}}}){arguments}</script>"
        assert crawl.check(f"/{number}", shell(script)).verdict is Verdict.NEW


@knowing
def test_data_beside_a_text_that_a_server_has_written_from_them_count_for_nothing(crawl: Crawl) -> None:
    shown = sentences("shown", 150)
    for number in range(2):
        data = json.dumps({"article": f"<p>{shown}</p>", "related": sentences(number, 400)})
        content = page(f"Shown | {SITE}", f"<h1>Shown</h1><p>{shown}</p>{FORMS['assignment'](data)}", MENU)
        decision = crawl.check(f"/{number}", content)
    assert is_duplicate(decision, "http://h/0")


@knowing
def test_data_with_less_text_than_the_page_shows_count_for_nothing(crawl: Crawl) -> None:
    crawl.check("/0", story("x", below=FORMS["linked data"](product("lamp")[:200])))
    again = story("x", below=FORMS["linked data"](product("chair")[:200]))
    assert is_duplicate(crawl.check("/1", again), "http://h/0")


@knowing
def test_white_space_between_the_tags_of_a_template_is_no_text(crawl: Crawl) -> None:
    for number in range(2):
        menu = f"`<ul>{5000 * ' '}<li>three short words</li></ul>`"
        script = f"<script>menu = {menu}; version = 'number {number} of it'</script>"
        decision = crawl.check(f"/{number}", story("x", below=script))
    assert is_duplicate(decision, "http://h/0")


@knowing
def test_data_behind_much_that_is_no_value_are_compared(crawl: Crawl) -> None:
    for name in ("lamp", "chair"):
        script = f"<script>/*{300_000 * 'x'}*/ state = {product(name)}</script>"
        assert crawl.check(f"/{name}", shell(script)).verdict is Verdict.NEW


@knowing
def test_a_chinese_text_with_latin_letters_and_digits_is_no_token(crawl: Crawl) -> None:
    for model in ("华为发布新款Mate10Pro手机售价1099元全国开售", "小米推出新款Redmi10Note手机售价1088元全国开售"):
        rows = json.dumps([{"text": f"{model}{row}"} for row in range(20)], ensure_ascii=False)
        assert crawl.check(f"/{model}", shell(f"<script>state = {rows}</script>")).verdict is Verdict.NEW


@knowing
def test_many_values_of_one_name_are_a_text(crawl: Crawl) -> None:
    for number in range(2):
        rows = [{"level": 1000 * number + row} for row in range(300)]
        assert crawl.check(f"/{number}", shell(f"<script>draw({json.dumps(rows)})</script>")).verdict is Verdict.NEW


@knowing
def test_a_template_is_no_data(crawl: Crawl) -> None:
    crawl.check("/0", shell(f"<script type='text/x-template'><b title='{sentences('lamp', 90)}'></b></script>"))
    template = shell(f"<script type='text/x-template'><b title='{sentences('chair', 90)}'></b></script>")
    assert is_duplicate(crawl.check("/1", template), "http://h/0")


@knowing
def test_a_page_whose_application_root_is_empty_passes_unchecked(crawl: Crawl) -> None:
    roots = read_cases(__file__)["roots"].values()
    for root, text, number in itertools.product(roots, [NOTE, CONSENT, f"<h1>{SITE}</h1>{CONSENT}"], range(2)):
        decision = crawl.check(f"/{number}", page(SITE, f"{root}{text}<script src=/app.js></script>", MENU))
        assert (decision.verdict, decision.reason) == (Verdict.UNCHECKED, "filled by a script")


def test_a_page_in_an_application_root_is_judged(crawl: Crawl) -> None:
    filled = page("Story | Tea House", f"<div id=__next><h1>Story</h1>{paragraphs(words('x', 90))}</div>", MENU)
    crawl.check("/0", filled)
    assert is_duplicate(crawl.check("/1", filled.replace("<h1>", "<!-- --><h1>")), "http://h/0")
