"""Own texts in callbacks: the same as in a program, from the page as it was signed, also when a process is replaced."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from scrapy.http import HtmlResponse

from crawler_dedup import Config, Deduplicator, OwnText, own_text
from crawler_dedup.crawl.supervision import NOT_IN_TIME, NotSigned
from crawler_dedup.crawl.workers import Workers
from crawler_dedup.pagetext import OwnTextJob
from crawler_dedup.signing.forms import CrawlSigner
from crawler_dedup.signing.signer import Signer
from crawler_dedup.worker.messages import MakeOwnText
from tests.support.crawling import Site, acting, html, run_script
from tests.support.prose import sentences
from tests.support.signing import URL, Log, odd, open_workers, pids

NOTICE, IMPRINT = (sentence.strip() for sentence in sentences(37, 2))
SPIDER = """
from msgspec import structs
from tests.support.walker import Walker, seen
from crawler_dedup import own_text

class Spider(Walker):
    async def parse(self, response):
        own = await own_text(response, "markdown", with_removed=True)
        yield {**seen(response), "own": structs.asdict(own)}
"""


def page(number: int) -> str:
    own = "".join(f"<p>{sentence}</p>" for sentence in sentences(number, 6))
    return f"<title>Reed {number}</title><div><h1>Reed {number}</h1><p>{NOTICE}</p>{own}<p>{IMPRINT}</p></div>"


PAGES = {f"/{number}": page(number) for number in range(24)}


@pytest.mark.parametrize("processes", [0, 2])
def test_in_a_crawl_a_text_is_that_of_a_program_with_the_same_snapshot(tmp_path: Path, processes: int) -> None:
    settings = {"DEDUP_PROCESSES": processes}
    with Site({path: html(text) for path, text in PAGES.items()}) as site:
        first, second = (
            run_script(tmp_path, SPIDER, settings, site=site.url, paths=list(PAGES)).items for _ in range(2)
        )
        address = site.url
    unknown, known = (
        {item["path"]: msgspec.convert(["OwnText", *item["own"].values()], OwnText) for item in items}
        for items in (first[:1], second)
    )
    assert [(own.site_known, own.removed, NOTICE in own.text) for own in unknown.values()] == [(False, 0.0, True)]
    assert {own.snapshot for own in known.values()} == {16}
    with Deduplicator.open(tmp_path / "index", Config(tokenizer="bigrams")) as index:
        for path, own in known.items():
            body = PAGES[path].encode()
            again = index.own_text(address + path, body, format="markdown", scope="spider walker", with_removed=True)
            assert own == again
            assert own.removed_blocks == (NOTICE, IMPRINT)
            assert NOTICE not in own.text


@pytest.mark.parametrize("processes", [0, 1])
def test_no_text_is_lost_when_the_index_can_no_longer_be_read(tmp_path: Path, processes: int) -> None:
    """What the site repeats is remembered from the first text on; pages without a decision have their whole text."""
    settings = {"DEDUP_PROCESSES": processes, "CONCURRENT_REQUESTS": 1}
    with Site({path: html(text) for path, text in PAGES.items()}) as site:
        run_script(tmp_path, SPIDER, settings, site=site.url, paths=list(PAGES))
        site.pages["/12"] = acting(PAGES["/12"], lambda: shutil.rmtree(tmp_path / "index", ignore_errors=True))
        crawl = run_script(tmp_path, SPIDER, settings, site=site.url, paths=list(PAGES))
    assert sorted(crawl.paths()) == sorted(PAGES)
    unchecked = [item["own"] for item in crawl.items if item["verdict"] == "unchecked"]
    assert unchecked
    assert not any(own["site_known"] for own in unchecked)
    decided = [item["own"] for item in crawl.items if item["verdict"] != "unchecked"]
    assert decided
    assert {(own["snapshot"], *own["removed_blocks"]) for own in decided} <= {(0,), (16, NOTICE, IMPRINT)}


def sign_with(signer: CrawlSigner, body: bytes) -> None:
    signer.sign(URL, body, encoding=None, key=None, scope="")


def test_a_page_that_was_signed_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    signer, body = CrawlSigner(Signer(Config(tokenizer="bigrams"))), page(1).encode()
    sign_with(signer, body)
    text = signer.own_texts.make(body, OwnTextJob())
    assert not signer.own_texts._pages  # few crawls ask for own texts: none is kept before the first
    sign_with(signer, body)
    monkeypatch.setattr(Signer, "read_page", None)
    assert signer.own_texts.make(body, OwnTextJob()) == text


def test_pages_are_kept_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = [page(number).encode() for number in range(4)]
    signer = CrawlSigner(Signer(Config(tokenizer="bigrams")))
    signer.own_texts.make(bodies[0], OwnTextJob())
    for body in bodies[2:]:
        sign_with(signer, body)
    monkeypatch.setattr("crawler_dedup.owntext.text._KEPT_BYTES", signer.own_texts._size)
    for body in (*bodies, *bodies[2:]):
        sign_with(signer, body)
    assert [body for body, _ in signer.own_texts._pages] == bodies[2:]


@pytest.mark.parametrize(
    "body", [b"<title>Reed</title>" + b"<p>a" * 40_000, b"<title>Reed</title><pre>" + b"a\n" * 40_000]
)
def test_a_small_body_that_takes_much_memory_is_not_kept(body: bytes) -> None:
    signer = CrawlSigner(Signer(Config(tokenizer="bigrams")))
    text = signer.own_texts.make(body, OwnTextJob())
    sign_with(signer, body)
    assert not signer.own_texts._pages
    assert signer.own_texts.make(body, OwnTextJob()) == text


# Workers that die


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    log = Log()
    opened = open_workers(tmp_path, log)
    yield opened
    opened.kill()


def response(body: bytes) -> HtmlResponse:
    return HtmlResponse("http://example.com/", body=body)


async def test_a_page_that_takes_too_long_has_its_visible_text(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = workers.ask

    async def ask_in_vain(job: Any, *args: Any) -> Any:
        if isinstance(job, MakeOwnText):
            raise NotSigned(NOT_IN_TIME)
        return await ask(job, *args)

    monkeypatch.setattr(workers, "ask", ask_in_vain)
    assert await own_text(response(b"<nav>visible words</nav>")) == OwnText("visible words")


async def test_a_format_that_does_not_exist_is_refused(workers: Workers) -> None:
    (pid,) = pids(workers)
    with pytest.raises(ValueError, match="takes 'text' or 'markdown'"):
        await own_text(response(odd("x")), "html")  # type: ignore[arg-type]
    assert pids(workers) == [pid]
