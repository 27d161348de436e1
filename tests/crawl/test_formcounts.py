"""Pages that differ only in numbers, dates or parts of their address are reported; nothing is dropped because of it."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml.html import document_fromstring
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

from crawler_dedup import Config
from crawler_dedup.crawl import formcounts
from crawler_dedup.crawl.formcounts import MAX_FORMS, AddressPattern, FormCounts, FormUse
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing import forms as signing_forms
from crawler_dedup.signing.forms import CrawlSigner, FormReader
from crawler_dedup.signing.signer import Signer
from crawler_dedup.system.extras import has_extra
from tests.support.commandline import command
from tests.support.crawling import WALK, Answer, Site, article, crawl_pages, html, run_script, words

LIMIT = 40
"""Number of alike pages that are reported: lower than that of the code, because signing takes time."""
SOURCE = f"from crawler_dedup.crawl import formcounts\n\nformcounts.LIMIT = {LIMIT}\n{WALK}"

NOT_FOUND = (
    "<title>Page not found</title><h1>Sorry</h1><p>The page {path} does not exist any more. Perhaps it was moved or renamed."
    " Use the menu or the search to find what you need, or write to our team, who will be glad to help you further.</p>"
    "<a href=/>Home</a>"
)
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November"]
Page = Callable[[int], tuple[str, str]]


def calendar(number: int) -> tuple[str, str]:
    year, month = 1990 + number // 11, number % 11
    days = "".join(f"<td>{day}</td>" for day in range(1, 29 + number % 3))
    return f"/calendar/{year}/{month + 1}", (
        f"<title>{MONTHS[month]} {year}</title><nav><a href=/>Home</a></nav><h1>Events in {MONTHS[month]} {year}</h1>"
        f"<p>There is nothing on the programme of our house for this month. Please look at the months before and after it,"
        f" or subscribe to the newsletter of our house, which comes on the first Monday of each month.</p>"
        f"<table><tr>{days}</table><a href='/calendar/{year}/{month + 2}'>{MONTHS[(month + 1) % 11]}</a>"
    )


def bare_calendar(number: int) -> tuple[str, str]:
    year, month = 1990 + number // 11, number % 11
    days = "".join(f"<td><a href='/{year}/{month}/{day}'>{day}</a></td>" for day in range(1, 29 + number % 3))
    return f"/bare/{year}-{month + 1}", f"<title>{MONTHS[month]} {year}</title><table><tr>{days}</table>"


def soft_404(number: int) -> tuple[str, str]:
    path = "/".join(["", *words(number, 1 + number % 4), ""])
    return path, NOT_FOUND.format(path=path)


def year(number: int) -> tuple[str, str]:
    path = f"/events/{1999 + number // (LIMIT + 20)}/{number}/"
    return path, NOT_FOUND.format(path=path)


def search(number: int) -> tuple[str, str]:
    first, second = words(number, 2)
    text = (
        f"Nothing was found for <b>{first.title()} {second}</b> in our shop. Try it with fewer words, or with others."
    )
    return f"/search?q={first}+{second}&sort=1", f"<title>{first} {second}</title><p>{text}<a href=/>Home</a>"


def login(number: int) -> tuple[str, str]:
    path = "_".join(words(number, 2))
    return (
        f"/login?to={path}",
        f"<title>Log in</title><a href='/{path}'>Back</a><input type=password><button>Log in</button>",
    )


def missing_page(number: int) -> tuple[str, str]:
    name = f"{words(number, 1)[0]}:{words(number + 5_000, 1)[0]}"
    text = "This topic does not exist yet. You have followed a link to it; if permissions allow, you may write it yourself."
    picture = f"<img src='/counter.php?id={quote(name)}&amp;17{number}' width=2 height=1>"
    return f"/doku.php?id={name}", f"<title>{name}</title><h1>{name}</h1><p>{text}<a href=/>Start</a></p>{picture}"


def articles(number: int) -> tuple[str, str]:
    return f"/articles/{number}", article(number)


def short_texts(number: int) -> tuple[str, str]:
    return f"/notes/{number}", f"<title>Note</title><nav><a href=/>Home</a></nav><p>{' '.join(words(number, 30))}</p>"


def lists(number: int) -> tuple[str, str]:
    links = "".join(
        f"<li><a href='/a/{link}'>{' '.join(words(link % 150, 5))}</a>" for link in range(number, number + 20)
    )
    return f"/page/{number}", f"<title>Page {number}</title><h1>All articles, page {number}</h1><ul>{links}</ul>"


def on_four_hosts(number: int) -> tuple[str, str]:
    return f"{number % 4}/x", NOT_FOUND.format(path="/x")


def sign_with(signer: CrawlSigner, url: str, body: str) -> tuple[SignedPage, Sequence[bytes]]:
    return signer.sign(url, body.encode(), encoding="utf-8", key=None, scope="")


@pytest.fixture(autouse=True)
def _low_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formcounts, "LIMIT", LIMIT)


def reported(page: Page) -> list[tuple[int, FormUse]]:
    """Return at which page which form is reported."""
    forms, signer, reports = FormCounts(), CrawlSigner(Signer(Config(tokenizer="bigrams"))), []
    for number in range(3 * LIMIT):
        path, body = page(number)
        url = f"http://site{path}"
        _, read = sign_with(signer, url, body)
        if form := forms.add(url, read):
            reports.append((number + 1, form))
    return reports


@pytest.mark.parametrize(
    ("page", "path", "pattern"),
    [
        (calendar, "http://site/calendar/", r"^https?://site/calendar/\d+/\d+$"),
        (bare_calendar, "http://site/bare/", r"^https?://site/bare/\d+-\d+$"),
        (soft_404, "http://site/", ""),
        (search, "http://site/", r"^https?://site/search\?q=.*[?&]sort=1(?:&|$)"),
        (login, "http://site/", r"^https?://site/login\?to="),
        (missing_page, "http://site/", r"^https?://site/doku\.php\?id="),
    ],
)
def test_a_form_is_reported_once_with_its_path_pattern_and_number(page: Page, path: str, pattern: str) -> None:
    ((number, form),) = reported(page)
    assert LIMIT <= number <= LIMIT + 5
    assert form.path == path
    assert form.pattern == pattern
    assert form.count >= 3 * LIMIT - 5
    assert len(form.examples) == 5


def test_a_pattern_that_would_also_refuse_another_page_of_the_crawl_is_not_named() -> None:
    forms = FormCounts()
    forms.add("http://site/doku.php?id=tea:leaves", [])
    forms.add("http://site/doku.php?id=tea:cups&do=show", [])
    reports = [forms.add(f"http://site/doku.php?id={words(number, 1)[0]}", [b"missing"]) for number in range(LIMIT)]
    others = [forms.add(f"http://site/doku.php?id={number}&do=edit&rev=", [b"edit"]) for number in range(LIMIT)]
    assert [form.pattern for form in (reports[-1], others[-1]) if form is not None] == [
        "",
        r"^https?://site/doku\.php\?id=\d+&do=edit&rev=$",
    ]


@pytest.mark.parametrize("page", [articles, short_texts, lists, on_four_hosts])
def test_pages_with_content_of_their_own_or_of_different_hosts_are_not_reported(page: Page) -> None:
    assert reported(page) == []


@pytest.fixture
def max_blocks(monkeypatch: pytest.MonkeyPatch) -> int:
    """Let 2,000 blocks be remembered, and return this number."""
    monkeypatch.setattr(signing_forms, "MAX_BLOCKS", 2_000)
    return 2_000


def test_what_is_remembered_is_bounded(max_blocks: int) -> None:
    reader, forms, signer = FormReader(), FormCounts(), Signer(Config(tokenizer="bigrams"))
    thin, tree = signed(signer, "http://h/", 0, 0), document_fromstring("<p>The same text")
    for number in range(max_blocks // 100 + 20):
        reader.read(signed(signer, f"http://h{number % 3}/{number}", number, 100), tree)
    for number in range(max_blocks + 50):
        reader.read(msgspec.structs.replace(thin, url=f"http://h{number}/"), tree)
        if number % 100 == 0:
            assert len(reader._blocks) + sum(map(len, reader._blocks.values())) == reader._remembered <= max_blocks
    for number in range(MAX_FORMS + 50):
        forms.add(f"http://h{number}/", [number.to_bytes(12, "big")])
    assert len(forms._forms) <= MAX_FORMS


def signed(signer: Signer, url: str, seed: int, blocks: int) -> SignedPage:
    """Return a page with this number of blocks that no page with another *seed* has."""
    rows = "".join(f"<p>{' '.join(words(f'{seed} {number}', 5))}</p>" for number in range(blocks))
    return signer.sign(url, f"<title>x</title>{rows}".encode(), encoding="utf-8", key=None, scope="")[0]


def test_only_the_first_page_of_a_host_is_read_if_it_has_many_new_blocks(max_blocks: int) -> None:
    reader, signer = FormReader(), Signer(Config(tokenizer="bigrams"))
    tree = document_fromstring("<p>The same text")

    def reads(host: str, seed: int, blocks: int = 20) -> bool:
        return bool(reader.read(signed(signer, f"http://{host}/{seed}", seed, blocks), tree))

    assert [reads("a", 1), reads("a", 2), reads("a", 2), reads("b", 2)] == [True, False, True, True]
    for seed in range(max_blocks // 400 + 1):
        reads("many", 100 + seed, 400)
    assert [reads("a", 3), reads("a", 4)] == [True, False]  # the host was forgotten; its next page is the first again


def test_a_page_whose_address_cannot_be_split_or_whose_forms_cannot_be_read_is_signed_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    signer = CrawlSigner(Signer(Config(tokenizer="bigrams")))
    odd, forms = sign_with(signer, "http://[a", article(1))
    monkeypatch.setattr(FormReader, "read", lambda *_: 1 / 0)
    other, unread = sign_with(signer, "http://a/", article(1))
    assert not odd.unsigned
    assert not other.unsigned
    assert forms
    assert unread == ()


HOSTILE = """
from lxml.html import document_fromstring
from crawler_dedup.signing import forms

forms._MAX_CHARS = 100_000
texts = ["/", "a-", "a_", "-", "0 ", "1.", "/a", "jan ", "\\u4e00 ", "x<img src=/a>", "<p>jan 1</p>"]
paths = ["abc/def/ghi?x=1", "abc", "a/" * 900 + "b", "/".join("a-" * number + "b" for number in range(1, 60)), "%2F" * 9000]
for text, path in [*((text, paths[0]) for text in texts), *(("/", path) for path in paths)]:
    list(forms.forms_of("http://site/" + path, document_fromstring("<body><p>0" + 40_000 * text)))
"""


def test_reading_a_form_takes_linear_time() -> None:
    # The texts are longer than in a crawl, so that steps of quadratic time take minutes. Linear, all take a second.
    subprocess.run([sys.executable, "-c", HOSTILE], check=True, timeout=60)


def test_a_crawl_warns_once_keeps_all_pages_and_its_report_names_path_and_number(tmp_path: Path) -> None:
    # The part that the addresses have in common becomes shorter after the warning.
    pages: dict[str, Answer] = {path: html(body) for path, body in map(year, range(LIMIT + 40))}
    with Site(pages) as site:
        crawl = run_script(tmp_path, SOURCE, {"DEDUP_SCOPE": "global"}, site=site.url, paths=list(pages))
    assert len(crawl.items) == len(pages)
    assert crawl.counts()["forms"] == 1
    (line,) = crawl.lines("WARNING", "")
    assert f"{LIMIT} pages below {site.url}/events/1999/ differ only in numbers, dates or parts" in line
    (pattern,) = re.findall(r"LinkExtractor\(deny=\[(r\"[^\"]+\")\]\)", line)
    base = site.url.removeprefix("http://").replace(".", r"\.")
    assert ast.literal_eval(pattern) == rf"^https?://{base}/events/1999/\d+/$"
    (journal,) = (tmp_path / "index").glob("journal-*.jsonl")
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [line["count"] for line in lines if line["event"] == "form"] == [len(pages)]
    if has_extra("report"):
        assert command(tmp_path, "report", "index").returncode == 0
        report = (tmp_path / "report.html").read_text()
        section = report.partition("Pages that differ only in numbers")[2].partition("</section>")[0]
        assert section.count(" pages below") == 1
        assert f'<span class="big">{len(pages)}</span> pages below' in section
        assert f"{site.url}/events/<" in section
        assert "Page not found" in section


def test_a_crawl_warns_of_forms_that_cannot_be_signed(tmp_path: Path) -> None:
    pages: dict[str, Answer] = {path: html(body) for path, body in map(login, range(LIMIT))}
    crawl = crawl_pages(tmp_path, pages, SOURCE, {"DEDUP_SCOPE": "global"})
    assert crawl.counts()["unchecked"] == LIMIT
    (line,) = crawl.lines("WARNING", "")
    assert re.search(rf"{LIMIT} pages below http://[\d.:]+/ differ only in numbers, dates or parts", line)


# The expression for addresses


def pattern_of(urls: Sequence[str]) -> str:
    pattern = AddressPattern(urls[0])
    for url in urls[1:]:
        pattern.add(url)
    return str(pattern)


@pytest.mark.parametrize(
    ("paths", "pattern"),
    [
        (["/wiki?title=A&action=edit", "/wiki?title=B&action=edit"], r"wiki\?title=.*[?&]action=edit(?:&|$)"),
        (["/c/books?view=grid", "/c/games_2?view=list&page=2"], r"c/.*[?&]view="),
        (["/v2/2025/12", "/v2/2026/1"], r"v2/\d+/\d+$"),
        (["/a/1", "/a/1/b"], r"a/1"),
        (["/tag/tea", "/author/tea"], ""),
        (["/", "/?page=2"], ""),
        (['/a"b/1', '/a"b/2'], r"a\x22b/\d+$"),
        (["/2025/a.html", "/2026/b.html"], r"\d+/"),
    ],
)
def test_an_expression_has_what_the_addresses_have_in_common(paths: list[str], pattern: str) -> None:
    expected = f"^https?://site/{pattern}" if pattern else ""
    assert pattern_of([f"http://site{path}" for path in paths]) == expected


def test_a_link_extractor_refuses_the_addresses_and_follows_others() -> None:
    pattern = pattern_of(
        [f"http://site/events/{year}/{month}?view=month" for year in (2025, 2026) for month in (1, 12)]
    )
    links = [
        "/events/1999/7?view=month",
        "/events/1999/7",
        "/events/summer",
        "/news?next=http://site/events/1/2?view=month",
    ]
    response = HtmlResponse("http://site/", body="".join(f"<a href='{link}'>x</a>" for link in links).encode())
    found = LinkExtractor(deny=[pattern]).extract_links(response)
    assert [link.url.removeprefix("http://site") for link in found] == links[1:]


@given(st.lists(st.text("a1/?&=.-", max_size=20), min_size=1, max_size=6))
def test_an_expression_matches_all_of_its_addresses(paths: list[str]) -> None:
    urls = [f"http://site/{path}" for path in paths]
    assert all(re.match(pattern_of(urls), url) for url in urls)
