import asyncio
import gzip
import hashlib
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Literal

import pytest
from scrapy.http import HtmlResponse

from crawler_dedup import Config, Deduplicator, SignedPage
from crawler_dedup.crawl.gate import declared_encoding
from crawler_dedup.signedpage import PageKind
from crawler_dedup.signing.parsing import parse
from crawler_dedup.signing.signer import BEHAVIOUR, Signer
from crawler_dedup.spiders.demo import DEMO_TEXTS, Article
from tests.support.cases import read_cases
from tests.support.crawling import article
from tests.support.data import saved
from tests.support.prose import html as prose_page
from tests.support.prose import prose
from tests.support.signing import Log, check, open_workers

GOLDEN = read_cases(__file__, "golden")["pages"]
"""What each page gives on every machine."""


@pytest.fixture(scope="module")
def signer() -> Signer:
    return Signer(Config(tokenizer="jieba"))


def page(article: Article) -> bytes:
    body = "".join(f"<p>{paragraph}</p>" for paragraph in article.paragraphs)
    return (
        f"<html><head><title> {article.title}\n</title></head><body><h1>{article.title}</h1><article>{body}</article>"
        '<a href="/next?sid=1">next</a><a href="http://example.org/">elsewhere</a></body></html>'
    ).encode()


def sign(signer: Signer, body: bytes, url: str = "http://example.com/x") -> SignedPage:
    return signer.sign(url, body, encoding=None, key=url, scope="")[0]


ROWS = "".join(f"<tr><td>lot {number}<td>{number * number} tons of 茶叶 in {1900 + number}" for number in range(9))
ITEMS = "".join(f"<li class=item>{' ' * 999}tea number {number}</li>" for number in range(9))
SCRIPT = f"<script>show(`<ul>{ITEMS}</ul>`, 'and 9 more', '../2.json')</script>"
STORIES = "".join(f'<p><a href="{number}.html">story of 茶 {number}</a> by me' for number in range(9))
PAGES = {
    **{kind: page["html"].encode() for kind, page in read_cases(__file__, "kindsofpages").items()},
    "en": page(DEMO_TEXTS.english[0]),
    "zh": page(DEMO_TEXTS.chinese[0]),
    "table": page(DEMO_TEXTS.english[1]).replace(b"</article>", f"<table>{ROWS}</table></article>".encode()),
    "short": "<title>Opening | 茶馆</title><p>We open in spring: come and see us. 再见</p><a href=/map>map</a>".encode(),
    "lamp": "<title>Product | 茶馆</title><h1>Lamp, 40 cm</h1><p>Brass, of 1924</p><img src=/1><a href=/>茶馆</a>".encode(),
    "list": f"<title>Archive | 茶馆</title><p>Stories of 2024 from the river, on 茶馆</p>{STORIES}".encode(),
    "data": f"<title>Tea | 茶馆</title><p>We open in spring: come and see us. 再见</p><a href=/>茶馆</a>{SCRIPT}".encode(),
    "data with less text": page(DEMO_TEXTS.english[0]).replace(b"</article>", f"{SCRIPT}</article>".encode()),
}


@pytest.mark.parametrize("tokenizer", ["jieba", "rjieba"])
@pytest.mark.parametrize("name", PAGES)
def test_signed_pages_are_the_golden_ones(signer: Signer, name: str, tokenizer: Literal["jieba", "rjieba"]) -> None:
    """Each run of the tests has another order of sets and dictionaries of strings, too."""
    signed = sign(signer if tokenizer == "jieba" else Signer(Config(tokenizer=tokenizer)), PAGES[name])
    blocks = hashlib.sha256(signed.blocks).hexdigest()[:8]
    parts = [f"{signed.signature:016x}", signed.features, blocks, signed.link_digest.hex(), signed.named]
    assert " ".join([signed.kind.name, *map(str, parts)]) == GOLDEN[name]
    assert BEHAVIOUR == 15


def test_a_signed_page_has_all_that_a_record_needs(signer: Signer) -> None:
    body = page(DEMO_TEXTS.english[0])
    signed = sign(signer, body)
    assert signed.title == DEMO_TEXTS.english[0].title
    assert signed.size == len(body)
    assert signed.kind is PageKind.TEXT
    assert signed.chars == sum(map(len, DEMO_TEXTS.english[0].paragraphs))
    assert (signed.link_count, signed.link_chars, signed.inner_link_chars) == (2, len("nextelsewhere"), 0)
    assert len(signed.links) == 2 * 4
    assert not signed.unsigned
    assert len(signed.blocks) == 6 * (1 + len(DEMO_TEXTS.english[0].paragraphs) + 1)
    assert signed.named == 1


def test_thin_pages_with_different_titles_or_blocks_have_different_signatures(signer: Signer) -> None:
    thin = PAGES["short"].decode()
    changes = ("", "<!-- -->", "<p>Tea</p>")
    signatures = [sign(signer, f"{thin}{change}".encode()).signature for change in changes]
    assert signatures[0] == signatures[1] != signatures[2]
    assert sign(signer, thin.replace("Opening", "Closing").encode()).signature != signatures[0]
    assert sign(signer, thin.replace("Opening | 茶馆", "茶館: OPENING").encode()).signature == signatures[0]


def test_the_title_is_the_first_one_outside_of_drawings(signer: Signer) -> None:
    for markup, title in [
        ("<title></title>", ""),
        ("<title>\n a <!-- b --> c\n</title><title>d</title>", "a <!-- b --> c"),
        ("<svg><title>a</title></svg><title>b</title>", "b"),
        (f"<title>{'ab' * 300}</title>", "ab" * 200),
    ]:
        assert sign(signer, markup.encode()).title == title


def test_a_thin_page_that_asks_for_a_password_is_not_signed(signer: Signer) -> None:
    for kind in ["password", "text"]:
        field = f"</html><form><input><input type={kind}></form>".encode()
        assert sign(signer, PAGES["short"] + field).unsigned == ("too little text" if kind == "password" else "")


def test_a_page_whose_text_becomes_much_longer_is_returned_unsigned(signer: Signer) -> None:
    """If the normalised text were cut off, nothing after these ligatures of 18 characters would be compared."""
    for content in [f"<p>{article(0)}</p>", "<a href=/>on</a>" + "<div>short and visible</div>" * 30]:
        assert sign(signer, content.encode()).unsigned == ""
        assert sign(signer, f"<p>{450 * chr(0xFDFA)}</p>{content}".encode()).unsigned == "too many characters"


FORM = f"<body><form action='/in'><p>{article(0)}</p><input name=user><select name=x></select></form>"


@pytest.mark.parametrize("body", [FORM, f"{FORM}{'<div>' * 101}"], ids=["signed", "refused"])
def test_a_tree_that_was_signed_gives_the_spider_forms_and_fields(signer: Signer, body: str) -> None:
    tree = parse(body.encode())
    signed, _ = signer.sign("https://example.com/", body.encode(), tree, encoding=None, key=None, scope="")
    assert bool(signed.unsigned) == (body != FORM)
    (form,) = tree.forms
    assert form.action == "/in"
    assert sorted(form.fields) == ["user", "x"]


def test_real_pages_with_a_wrong_charset_are_signed(signer: Signer, data: Path) -> None:
    pages = list((data / "hard/encoding-wrongly-declared").iterdir())
    assert pages
    for page in pages:
        signed = sign(signer, gzip.decompress(page.read_bytes()))
        assert not signed.unsigned
        assert signed.features > 20


# Signing processes sign as the functions do that the API, commands and batch jobs call

CHINESE = prose_page(prose(0, chinese=True))


@pytest.mark.parametrize(("tokenizer", "expected"), [("jieba", ["loading"]), ("bigrams", [])])
def test_a_signer_tells_that_it_loads_the_words(tokenizer: Literal["jieba", "bigrams"], expected: list[str]) -> None:
    calls: list[str] = []
    signer = Signer(Config(tokenizer=tokenizer))

    def note_loading() -> AbstractContextManager[None]:
        calls.append("loading")
        return nullcontext()

    signer.around_loading = note_loading
    signer.load(dictionary=False)
    sign(signer, prose_page(prose(0)))
    assert calls == []
    for _ in range(2):
        sign(signer, CHINESE)
    signer.load()
    assert calls == expected


@pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.slow)])
def test_saved_pages_are_signed_alike_in_a_crawl_and_by_the_api(data: Path, tmp_path: Path, step: int) -> None:
    log, files = Log(), sorted(file for file in (data / "sites").rglob("*.html*") if file.is_file())[::step]
    pages = [(f"http://site.org/{number}", saved(file)) for number, file in enumerate(files)]
    with Deduplicator.open(tmp_path, Config(tokenizer="bigrams")) as deduplicator:
        workers = open_workers(tmp_path, log, deduplicator.config)

        async def sign(url: str, body: bytes) -> SignedPage:
            encoding = declared_encoding(HtmlResponse(url, body=body))
            return (await workers.ask(*check(body, url, scope="global", encoding=encoding))).page

        async def sign_all() -> list[SignedPage]:
            return await asyncio.gather(*(sign(url, body) for url, body in pages))

        signed = asyncio.run(sign_all())
        workers.kill()
        different = [
            file
            for file, page, (url, body) in zip(files, signed, pages, strict=True)
            if page != deduplicator.sign(url, body, scope="global")
        ]
    assert len(pages) > 1000 / step
    assert different == []


def test_a_page_has_the_charset_that_scrapy_has_determined(tmp_path: Path) -> None:
    text = CHINESE.decode().replace("<head>", "<head><meta charset=utf-8>")
    log, signer = Log(), Signer(Config(tokenizer="bigrams"))
    workers = open_workers(tmp_path, log, signer.config)

    async def sign_all() -> None:
        for charset in ("gbk", "big5", "utf-16", "shift_jis", "x-klingon"):
            body = text.encode("utf-8" if charset == "x-klingon" else charset, "replace")
            headers = {"Content-Type": f"text/html; charset={charset}"}
            response = HtmlResponse(f"http://{charset}/", body=body, headers=headers)
            asked = check(body, response.url, encoding=declared_encoding(response))
            expected, _ = signer.sign(response.url, body, response.selector.root, encoding=None, key=None, scope="")
            assert (await workers.ask(*asked)).page == expected

    asyncio.run(sign_all())
    workers.kill()
