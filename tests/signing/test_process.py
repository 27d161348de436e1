"""The signing process signs as the functions do that the API, commands and batch jobs call."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from scrapy.http import HtmlResponse

from crawler_dedup import Config, Deduplicator, SignedPage
from crawler_dedup.crawl.signers import share_signers
from crawler_dedup.crawl.text import declared_encoding
from crawler_dedup.signing.messages import SignJob
from crawler_dedup.signing.signer import Signer
from tests.support.data import saved
from tests.support.prose import html, prose
from tests.support.signing import Log

CHINESE = html(prose(0, chinese=True))


def test_the_program_imports_no_crawler_and_no_database() -> None:
    command = [sys.executable, "-c", "import sys, crawler_dedup.signing.process; print(*sys.modules)"]
    names = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    assert "crawler_dedup.signing.signer" in names
    assert not {"scrapy", "twisted", "lmdb", "redis", "jieba", "rjieba", "trafilatura", "asyncio"} & set(names)


def test_a_signer_tells_before_it_loads_the_dictionary_once() -> None:
    calls: list[str] = []
    signer = Signer(Config(tokenizer="jieba"), before_loading=lambda: calls.append("loading"))
    signer.load(dictionary=False)
    for body in (html(prose(0)), CHINESE, CHINESE):
        signer.sign("http://a/", body, encoding=None, key=None, scope="")
    assert calls == ["loading"]
    signer.load()
    assert calls == ["loading"]


def test_a_signer_without_a_dictionary_loads_none() -> None:
    calls: list[str] = []
    signer = Signer(Config(tokenizer="bigrams"), before_loading=lambda: calls.append("loading"))
    signer.sign("http://a/", CHINESE, encoding=None, key=None, scope="")
    assert calls == []


@pytest.mark.parametrize("step", [9, pytest.param(1, marks=pytest.mark.slow)])
def test_saved_pages_are_signed_alike_in_a_crawl_and_by_the_api(data: Path, tmp_path: Path, step: int) -> None:
    monitor, files = Log(), sorted(file for file in (data / "sites").rglob("*.html*") if file.is_file())[::step]
    pages = [(f"http://site.org/{number}", saved(file)) for number, file in enumerate(files)]
    with Deduplicator.open(tmp_path, Config(tokenizer="bigrams")) as deduplicator:
        signers = share_signers(deduplicator.config, monitor)  # type: ignore[arg-type]

        async def sign(url: str, body: bytes) -> SignedPage:
            encoding = declared_encoding(HtmlResponse(url, body=body))
            return (await signers.sign(SignJob(url, encoding, None, "global"), body, 30)).page

        async def sign_all() -> list[SignedPage]:
            return await asyncio.gather(*(sign(url, body) for url, body in pages))

        signed = asyncio.run(sign_all())
        different = [
            file
            for file, page, (url, body) in zip(files, signed, pages, strict=True)
            if page != deduplicator.sign(url, body, scope="global")
        ]
    signers.release(monitor)  # type: ignore[arg-type]
    assert len(pages) > 1000 / step
    assert different == []


@pytest.mark.parametrize("charset", ["gbk", "big5", "utf-16", "shift_jis", "x-klingon"])
def test_a_page_has_the_charset_that_scrapy_has_determined(charset: str, tmp_path: Path) -> None:
    text = CHINESE.decode().replace("<head>", "<head><meta charset=utf-8>")
    try:
        body = text.encode(charset, "replace")
    except LookupError:
        body = text.encode()
    response = HtmlResponse("http://a/", body=body, headers={"Content-Type": f"text/html; charset={charset}"})
    monitor, signer = Log(), Signer(Config(tokenizer="bigrams"))
    signers = share_signers(signer.config, monitor)  # type: ignore[arg-type]
    job = SignJob(response.url, declared_encoding(response), None, "")
    signed = asyncio.run(signers.sign(job, body, 30)).page
    signers.release(monitor)  # type: ignore[arg-type]
    expected, _ = signer.sign(response.url, body, response.selector.root, encoding=None, key=None, scope="")
    assert signed == expected
