from __future__ import annotations

import gzip
import hashlib
from importlib.util import find_spec
from pathlib import Path

import pytest

from crawler_dedup import Config, ConfigError, SignedPage, signing
from crawler_dedup.signing import BEHAVIOUR, Signer
from spiders.demo_texts import CHINESE, ENGLISH, Article

# What one page gives on every machine: another value is another behaviour, and signing.BEHAVIOUR must rise with it.
GOLDEN = {
    "en": ("2032dfd970437c7c", 44, "8516a4f48eeba188", "ee85516c5561c8de"),
    "zh": ("cd2c516ef1f0cf77", 86, "82e2e75525a8f588", "ee85516c5561c8de"),
}


@pytest.fixture(scope="module")
def signer(tmp_path_factory: pytest.TempPathFactory) -> Signer:
    return Signer(Config(), tmp_path_factory.mktemp("jieba"))


def page(article: Article) -> bytes:
    body = "".join(f"<p>{paragraph}</p>" for paragraph in article.paragraphs)
    return (
        f"<html><head><title> {article.title}\n</title></head><body><h1>{article.title}</h1><article>{body}</article>"
        '<a href="/next?sid=1">next</a><a href="http://example.org/">elsewhere</a></body></html>'
    ).encode()


def sign(signer: Signer, body: bytes, url: str = "http://example.com/x") -> SignedPage:
    return signer.sign(url, body, encoding=None, key=url, scope="")[0]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_golden_values(signer: Signer, lang: str) -> None:
    signed = sign(signer, page({"en": ENGLISH, "zh": CHINESE}[lang][0]))
    digest = hashlib.sha256(signed.sketch).hexdigest()[:16]
    assert (f"{signed.signature:016x}", signed.features, digest, signed.link_digest.hex()) == GOLDEN[lang]
    assert BEHAVIOUR == 1


def test_all_that_a_record_needs_is_there(signer: Signer) -> None:
    body = page(ENGLISH[0])
    signed = sign(signer, body)
    assert signed.title == ENGLISH[0].title
    assert signed.size == len(body)
    assert signed.chars > 500
    assert (signed.link_count, signed.link_chars) == (2, len("nextelsewhere"))
    assert len(signed.sketch) == 64
    assert not signed.unsigned


def test_charset_and_template_leave_the_signature_alone(signer: Signer) -> None:
    text = page(CHINESE[0]).decode()
    gbk = text.replace("<head>", "<head><meta charset=gbk>").encode("gbk")
    framed = text.replace("<body>", "<body><nav><a href=/>Home</a></nav>").encode()
    assert sign(signer, gbk).signature == sign(signer, framed).signature == sign(signer, text.encode()).signature
    assert sign(signer, gbk).digest != sign(signer, text.encode()).digest


def test_the_three_tokenizers_are_three_specs() -> None:
    specs = [Signer(Config(tokenizer=name)).spec for name in ("jieba", "rjieba", "bigrams")]
    assert len({tuple(spec.items()) for spec in specs}) == 3


def test_jieba_and_rjieba_sign_alike(signer: Signer) -> None:
    rust = Signer(Config(tokenizer="rjieba"))
    for article in CHINESE:
        assert sign(rust, page(article)).signature == sign(signer, page(article)).signature


def test_a_missing_tokenizer_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signing, "find_spec", lambda name: None if name == "rjieba" else find_spec(name))
    with pytest.raises(ConfigError, match=r"crawler-dedup\[fast\]"):
        Signer(Config(tokenizer="rjieba"))


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        (Config(tokenizer="bigrams", max_bytes=10), "too many bytes"),
        (Config(tokenizer="bigrams", max_nodes=3), "too many nodes"),
        (Config(tokenizer="bigrams", max_depth=2), "nested too deep"),
        (Config(tokenizer="bigrams", max_chars=10), "too many characters"),
    ],
)
def test_a_page_beyond_a_limit_comes_back_unsigned(limit: Config, reason: str) -> None:
    assert sign(Signer(limit), page(ENGLISH[0])).unsigned == reason


def test_real_pages_with_a_lying_charset_are_signed(signer: Signer, data: Path) -> None:
    pages = list((data / "hard/encoding-wrongly-declared").iterdir())
    assert pages
    for one in pages:
        signed = sign(signer, gzip.decompress(one.read_bytes()))
        assert not signed.unsigned
        assert signed.features > 20
