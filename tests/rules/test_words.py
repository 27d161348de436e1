"""A page is dropped only if every block that is its own is on the kept page, in the same words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import permutations

import pytest

from crawler_dedup import Decision, Deduplicator, Verdict
from tests.support.crawling import paragraphs, words
from tests.support.sitepages import MENU, SITE, Crawl, is_duplicate, knowing, page

OTHER_WORDS = {
    "The board has {} the plan for the bridge, which the town had sent back twice.": "approved|rejected|not approved",
    "Patients in the second group, who had shown no reaction, were given {} a day.": "40 mg|80 mg|forty milligrams|-40 mg",
    "The chair of the board, {}, told the members that the accounts were in order.": "Ann Kay|ann May|she",
    "Das Gericht hat entschieden, dass die Eigentümer die neue Mauer {} zahlen müssen.": "selbst|nicht|zu drei Vierteln",
    "Le conseil a {} hier soir le projet de pont que la ville avait renvoyé deux fois.": "adopté|rejeté|Adopté enfin",
    "El tribunal dijo que los dueños {} pagar el muro que la ciudad había previsto.": "deben|no deben|pueden",
    "Суд решил, что владельцы домов у реки {} должны платить за новую стену и за её ремонт.": "сами|не|все трое",
    "市政府昨日发布公告称，{}今后可以在河边的草地上放养犬只，违者将受到相应的处罚。": "王小明|李小红|三人",
    "医生在复诊记录里写道，患者对这种新的药物{}明显的过敏反应，可以按照原来的剂量服用。": "有|无|没有",
    "市は昨日、川沿いの草地で犬を放すことを{}と発表し、罰金を科すと述べた。": "認める|認めない|三年認める",
    "시는 어제 강가의 풀밭에서 개를 풀어 놓는 것을 {} 발표했다.": "허용한다고|금지한다고|두 번",
    "وقالت المحكمة إن أصحاب البيوت {} دفع ثمن الجدار الجديد الذي خططت له المدينة.": "يجب عليهم|لا يجب عليهم|رفضوا",
    "अदालत ने कहा कि मालिकों को नई दीवार के लिए {} होगा जिसकी योजना शहर ने बनाई है।": "देना|नहीं देना|दो बार देना",
    "Rada wczoraj wieczorem {} plan mostu, który miasto dwa razy odesłało do poprawki.": "przyjęła|odrzuciła|trzykrotnie",
    "{}": "Leith|Hull|€ 45.90|€ 54.90|-5 °C|5 °C|1:3|3:1|1.12|11.2|5 mW|5 MW|C|C++|★★★☆☆|★★☆☆☆|♂|♀|☀|☂|🇩🇪|🇦🇹|✓|✗",
    "{} ": "$|$$$|↑|↓|Mr Smith owns 500 shares|Mr Smith owns 90,000 shares"
    "|Spring run 5k 12 May 2026|Spring run 10k 12 May 2026",
    "{}  ": "A|A-|***|****|•••|••••|†|‡|1,204|(1,204)|24|24\"|24'|1<sup>5</sup>|15"
    "|🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
    "|🏴\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f",
    "<p>36 37 38 39 40 41{}</p>": "| 42",
    "<p><a href='/hull'>Hull</a> <a href='/ely'>Ely</a></p><ul><li><a href=/bath>Bath</a></ul><p>{}</p>": "Ely|Bath",
    "<p><math><mfrac>{}</mfrac></math></p>": "<mn>1</mn><mn>12</mn>|<mn>11</mn><mn>2</mn>",
    "Take {} once a day": "5 mg|.5 mg|- 5 mg",
    "<p>Paris: {}</p><p>Rome: {}</p>": "12 May 2026|13 May 2026",
    "<div>Price: {} in euros <a href='/cart'>cart</a></div>": "5|9",
    "<h2>{}</h2>": "Where it is|Where it was|Votes|Shares|下载",
    "<p>{}: May 12, 2026</p>": "Votes|Downloads",
    "<p>Comments: {}</p>": "12 May 2026|30 May 2026|30 May 2019",
    "<p>{}: May 12, 2026</p><p>{}: May 30, 2026</p>": "Comments|Closing",
    "<ul><li>{}</li><li>full time</li></ul>": "Leith|Hull|✓|✗",
    "<p><a href='/city'>{}</a></p>": "Leith|Hull",
    "<p><a href='tel:+44'>{}</a></p>": "553 1|553 2",
    "<p><a href=' SMS:+44'>{}</a></p>": "554 1|554 2",
    "<table><tr><td>Sauna<td><img src='/icon' alt={}></table>": "yes|no",
    "<dl><dt>Sauna<dd><svg aria-label={}><path d='M0 0'/></svg></dl>": "yes|no",
    "<ul><li>Sauna <i title={}></i><li>by the river</ul>": "yes|no",
    "<p><button>{}</button></p>": "Add to cart|Sold out",
    "<p><select><option>{}<option>Bath</select></p>": "Leith|Hull",
    "<p><progress value=5 max={}></progress></p>": "10|20",
    "<pre>It works.\n{}\nYes.</pre>": "lamp [1:3.5.4]|R lamp [1:3.5.4]|lamp needs oil",
    "<table><tr><td>Adults</td><td>{}</td></tr><tr><td>Children</td><td>{}</td></tr></table>": "two spoons|one spoon",
    "<table><tr><th>Feature<th>Basic<th>Pro<tr><td>Sign-on{}</table>": "<td><td>✓|<td>✓<td>",
    "<table><tr><td>Leeds<td>{}</table>": "Relegated|Promoted",
    "<table><tr><th>Home<th>Away<tr><td>{}<td>{}</table>": "1|2",
    "<table><tr><td>Lions</td><td>Bears</td><td>{}:{}</td></tr></table>": "1|3",
    "<table><tr><td>{}</td><td>to</td><td>{}</td><td>8.15</td></tr></table>": "Leith|Hull",
    "<dl><dt>Adults</dt><dd>{}</dd><dt>Children</dt><dd>{}</dd></dl>": "10 €|5 €",
}
SAME_WORDS = {
    "Printed on {}": "Aug 10th, 2011|10 August 2011|2011-08-10|2011/8/10|10 août 2011"
    "|10. August 2011|2011年8月10日|Wednesday, 10 August 2011 at 17:07",
    "{}": "Closed on Monday|CLOSED  on\n\tMonday|Closed on&nbsp;Monday|Ｃｌｏｓｅｄ on Monday|Closed, on Monday."
    "|# Closed on Monday",
    "The {}, which our readers had asked for, is open again from Tuesday at noon.": '"old" mill|“old” mill|„old“ mill',
    "The frame of the platform is made of wood which is {} inch thick, and has two steps.": "3/4|¾|3⁄4",
    "Prices of {} in all the shops by the river": "2019-2023|2019–2023",
    "Pipe of brass, {}": '24"|24”',
    "Prices in {}": '“1950”|"1950"',
    "{}，明天早上八点开门，欢迎光临，请从后门进入，谢谢合作与理解": "茶館裏|茶馆里",
    "<p>Read</p><p>{}</p>": "12 views|48 views|1.2k views",
    "<div><span>{} ago</span> · <span>19 shares</span></div>": "3 minutes|25 minutes|2 hours",
    "<div>浏览 {} 次</div>": "12|4800",
    "<p>12 May 2026 · {} views</p>": "123|140",
    "<table><tr><td><pre>{}</pre></td><td><pre>if rain:\nstay\nelse:\ngo</pre></table>": "1\n2\n3\n4|11\n12\n13\n14",
    "<ul><li>full time</li><li>by the river</li></ul>{}": "|<p>Advertisement</p>|<p>Sponsored</p>",
}
"""Templates, and what their blanks are filled with; each filling but the first makes another page, or the same one."""
BESIDE_MAIN_TEXT = ("<p><a", "<p>Paris", "<p>{}: May 12, 2026</p><p>")
"""Beginnings of templates that are not compared on two hosts as long as neither site is known."""


def fillings(template: str, values: str) -> list[str]:
    blanks = template.count("{}")
    return [template.format(*filling) for filling in permutations(values.split("|"), blanks)]


def text(name: object, *parts: str, count: int = 60) -> str:
    """Return a page with *parts* between two long paragraphs."""
    body = "".join(part if part.startswith("<") else f"<p>{part}</p>" for part in parts)
    around = [paragraphs(words(f"{name} {half}", count)) for half in ("above", "below")]
    return page(
        f"Notes on {name} | {SITE}", f"<article><h1>Notes on {name}</h1>{around[0]}{body}{around[1]}</article>", MENU
    )


def note(name: object, *parts: str) -> str:
    """Return a page with too little text to be signed by it."""
    body = "".join(part if part.startswith("<") else f"<p>{part}</p>" for part in parts)
    line = " ".join(words(f"note {name}", 6)).capitalize()
    return page(
        f"Notes on {name} | {SITE}", f"<h1>Notes on {name}</h1><p>{line}</p>{body}<p><a href='/on'>on</a></p>", MENU
    )


CONTEXTS = ["one site unknown", "one site known", "two sites unknown", "two sites known"]


@pytest.fixture(params=CONTEXTS)
def hosts(request: pytest.FixtureRequest, deduplicator: Deduplicator) -> list[tuple[Crawl, Crawl]]:
    """Return pairs of crawls: of the kept page's site, and of the new page's. Of unknown sites, each pair has its own."""
    first, second = ("a", "b") if "two" in request.param else ("a", "a")
    if "unknown" in request.param:
        names = [str(number) for number in range(len(OTHER_WORDS))]
        return [
            (Crawl(deduplicator, f"http://{name}.{first}"), Crawl(deduplicator, f"http://{name}.{second}"))
            for name in names
        ]
    crawls = {host: Crawl(deduplicator, f"http://{host}").get_known() for host in {first, second}}
    return len(OTHER_WORDS) * [(crawls[first], crawls[second])]


def check_all(
    hosts: list[tuple[Crawl, Crawl]], make: Callable[..., str], templates: Mapping[str, str]
) -> Iterator[tuple[str, str, Decision]]:
    """Yield each template, each filling of it but the first, and the decision about its page after that of the first."""
    for number, (template, values) in enumerate(templates.items()):
        kept_site, new_site = hosts[number]
        first, *others = fillings(template, values)
        assert kept_site.check(f"/{number}", make(number, first)).verdict is Verdict.NEW
        for at, other in enumerate(others):
            yield template, other, new_site.check(f"/{number}/{at}", make(number, other))


@pytest.mark.parametrize("make", [text, note])
def test_any_other_word_number_or_symbol_keeps_a_page(
    hosts: list[tuple[Crawl, Crawl]], make: Callable[..., str], request: pytest.FixtureRequest
) -> None:
    only_main = make is text and "two sites unknown" in request.node.name
    assert [
        (filling, str(decision))
        for template, filling, decision in check_all(hosts, make, OTHER_WORDS)
        if decision.verdict is not Verdict.NEW and not (only_main and template.startswith(BESIDE_MAIN_TEXT))
    ] == []


@pytest.mark.parametrize("make", [text, note])
def test_another_notation_and_what_counts_visits_or_lines_make_no_other_page(
    hosts: list[tuple[Crawl, Crawl]], make: Callable[..., str]
) -> None:
    assert [
        (filling, str(decision))
        for _, filling, decision in check_all(hosts, make, SAME_WORDS)
        if decision.verdict is not Verdict.DUPLICATE
    ] == []


# Visits


VISITS = {
    "<table><tr><td>Price</td><td>{}</td></tr></table>": ("€ 59.95", "€ 49.95", Verdict.CHANGED),
    "Lamp of brass. {}": ("In stock", "Sold out", Verdict.CHANGED),
    "<p>{}</p><p>€ 59.95</p>": ("In stock", "Sold out", Verdict.CHANGED),
    "</article><div><a href='/1'>Paper</a> | <a href='/2'>{}</a></div><article>": ("Data", "Slides", Verdict.CHANGED),
    "<h2>Lamp</h2>{}": ("", "<p>Recalled: the cable may break.</p>", Verdict.CHANGED),
    "<table><tr><td>Leith</td><td>8.15</td></tr>{}</table>": (
        "",
        "<tr><td>Hull</td><td>9.30</td></tr>",
        Verdict.CHANGED,
    ),
    "</article><p><a href='javascript:book(2)'>{}</a></p><article>": ("Book now", "Sold out", Verdict.CHANGED),
    "<div>{} views</div><div>Comments ({})</div>": ("12", "4,800", Verdict.UNCHANGED),
    "<div>浏览 {} 次</div>": ("12", "4800", Verdict.UNCHANGED),
    "<div>{} ago</div>": ("3 minutes", "2 hours", Verdict.UNCHANGED),
    "<p>Updated on {}</p>": ("Aug 10th, 2011", "2011-08-10", Verdict.UNCHANGED),
    "<h2>Lamps</h2>{}": ("<p>New</p>", "", Verdict.UNCHANGED),
}


@pytest.mark.parametrize("hosts", CONTEXTS[:2], indirect=True)
@pytest.mark.parametrize("make", [text, note])
def test_a_page_is_unchanged_at_its_next_visit_only_if_it_shows_nothing_new(
    hosts: list[tuple[Crawl, Crawl]], make: Callable[..., str]
) -> None:
    verdicts = {}
    for number, (template, (before, after, _)) in enumerate(VISITS.items()):
        crawl, _ = hosts[number]
        first, second = (make(number, template.replace("{}", value)) for value in (before, after))
        assert crawl.check(f"/{number}", first).verdict is Verdict.NEW
        verdicts[template] = crawl.check(f"/{number}", second).verdict
    assert verdicts == {template: verdict for template, (*_, verdict) in VISITS.items()}


# Which page represents which


def printed(content: str, *more: str, menu: str = "") -> str:
    """Return an article without a title of its own, with *more* paragraphs."""
    body = content.partition("<article>")[2].partition("</article>")[0]
    return page(SITE, f"<article>{body}{''.join(more)}</article>", menu)


@knowing
def test_a_page_without_a_title_of_its_own_may_be_a_copy_and_represents_none_that_has_one(crawl: Crawl) -> None:
    article = text("the mill", "Leith")
    assert crawl.check("/page/159/", printed(article, menu=MENU)).verdict is Verdict.NEW
    assert crawl.check("/mill", article).verdict is Verdict.NEW
    assert is_duplicate(crawl.check("/mill/print", printed(article)), "http://h/page/159/")


@knowing
@pytest.mark.parametrize(("more", "verdict"), [("", Verdict.DUPLICATE), ("<p>By hand</p>", Verdict.NEW)])
def test_a_copy_for_printing_is_dropped_if_it_has_nothing_of_its_own(crawl: Crawl, more: str, verdict: Verdict) -> None:
    article = text("the mill", "Leith")
    assert crawl.check("/mill", article).verdict is Verdict.NEW
    assert crawl.check("/mill/print", printed(article, more)).verdict is verdict


# Titles


@pytest.mark.parametrize("known", [False, True], ids=["site unknown", "site known"])
@pytest.mark.parametrize(
    ("title", "content", "values"),
    [
        ("Flight BA12: {}", "<h1>Flight BA12</h1><div>{}</div>", ("On time", "Delayed")),
        ("Election: {} wins", "<h1>Election</h1><h2>{}</h2>", ("Jones", "Smith")),
        ("Changes | {}", "<h1>Changes</h1><h2>{}</h2>", ("v2", "v3")),
    ],
)
def test_what_repeats_a_title_counts_if_the_kept_page_has_another_title(
    crawl: Crawl, known: bool, title: str, content: str, values: tuple[str, str]
) -> None:
    if known:
        crawl.get_known()
    text = paragraphs(words("a journey"))
    for value in values:
        html = page(title.format(value), content.format(value) + f"<article>{text}</article>", MENU)
        assert crawl.check(f"/{value}", html).verdict is Verdict.NEW


def test_two_texts_that_share_their_name_and_a_licence_are_two_pages(crawl: Crawl, mirror: Crawl) -> None:
    licence = paragraphs(words("licence", 24))
    for site in (crawl, mirror):
        lines = "".join(f"<p>{' '.join(words(f'{site.host} {number}', 4))}</p>" for number in range(30))
        html = page(f"Home | {site.host}", f"<h1>Home</h1><article>{lines}{licence}</article>", MENU)
        assert site.check("/home", html).verdict is Verdict.NEW
