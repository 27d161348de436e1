"""Texts for the tests of schemes: sentences of words in the lexica, without a word in common between texts."""

import random
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from crawler_dedup import Config
from crawler_dedup.signing.segmentation import han_cutter
from crawler_dedup.signing.text import Text
from crawler_dedup.signing.wordtables import stop_words
from crawler_dedup.spiders.demo import DEMO_TEXTS
from crawler_dedup.system.compression import decompress

_OF_A_TEXT = 360
"""Words from which a text is made."""

BIGRAMS = han_cutter("bigrams")

ODD = {
    "empty": "",
    "one word": "lighthouse",
    "one character": "茶",
    "punctuation": "… — !\n。，",
    "NUL": "\0",
    "NUL between words": "tram\0depot \0 茶\0馆 " * 20,
    "lone surrogates": "tram \ud800 depot\udfff 茶馆\ud800。" * 20,
    "100,000 characters in a row": "x" * 100_000,
    "100,000 Chinese characters": "茶馆门前的老人听不到船夫的号子。" * 6_250,
    "100,000 characters of words": "the tram depot sells honey. " * 3_600,
    "marks": "e" + "\u0301" * 5_000 + " \u0915\u094d\u0937\u093f " * 50,
    "mixed scripts": "Tea чай 茶館 ชา 찻집 चाय かな カタカナ שלום مرحبا 🍵👩‍👩‍👧 Straße ｶﾞ ﷺ Ⅷ. " * 8,
    "one line again and again": "老茶馆在立春那天重新开门，住在附近的老人带着茶杯来排队。" * 40,
    "full stops": "." * 500 + "。" * 500,
    "numbers": " ".join(map(str, range(700))),
}
"""Unusual texts."""


@cache
def _english() -> list[str]:
    packed = (files("crawler_dedup") / "data/english.txt.zst").read_bytes()
    rows = (line.split(" ") for line in decompress(packed, 1 << 30).decode().splitlines())
    return _shuffled(word for word, rank in rows if word.isalpha() and len(word) > 3 and 450 <= int(rank) <= 560)


@cache
def _chinese() -> list[str]:
    rows = (line.split(" ") for line in (files("jieba") / "dict.txt").read_text("utf-8").splitlines())
    return _shuffled(word for word, times, *_ in rows if len(word) == 2 and 300 <= int(times) <= 5_000)


def _shuffled(words: Iterable[str]) -> list[str]:
    shuffled_words = sorted(set(words) - stop_words())
    random.Random("words").shuffle(shuffled_words)
    return shuffled_words


def sentences(seed: int, count: int = 30, *, chinese: bool = False) -> list[str]:
    """Return *count* sentences. Different seeds (0 … 29, in English 0 … 38) have no word in common."""
    source = random.Random(f"sentences {seed}")
    vocabulary = (_chinese() if chinese else _english())[seed * _OF_A_TEXT :][:_OF_A_TEXT]
    assert len(vocabulary) == _OF_A_TEXT
    made_sentences = []
    for _ in range(count):
        chosen = source.sample(vocabulary, source.randint(8, 14))
        middle = len(chosen) // 2
        if chinese:
            made_sentences.append("".join(chosen[:middle]) + "，" + "".join(chosen[middle:]) + "。")
        else:
            made_sentences.append(f"{' '.join(chosen[:middle])}, {' '.join(chosen[middle:])}. ".capitalize())
    return made_sentences


def prose(seed: int, count: int = 30, *, chinese: bool = False) -> str:
    """Return a text of the sentences of :func:`sentences`, several in a line."""
    made_sentences = sentences(seed, count, chinese=chinese)
    return "\n".join("".join(made_sentences[at : at + 5]).strip() for at in range(0, len(made_sentences), 5))


def mixed(seed: int) -> str:
    """Return a text in both languages."""
    return f"{prose(seed, 12)}\n{prose(seed, 12, chinese=True)}"


SAMPLES = {
    "English": prose(0),
    "Chinese": prose(0, chinese=True),
    "both": mixed(1),
    "short": prose(2, 3),
    **{article.slug: "\n".join(article.paragraphs) for article in (*DEMO_TEXTS.english, *DEMO_TEXTS.chinese)},
}
"""Different texts as they occur on pages."""


@lru_cache(256)
def text_of(raw: str, title: str = "") -> Text:
    return Text(raw, BIGRAMS, title=title)


def html(text: str, frame: str = "") -> bytes:
    """Return a page with *text* and without a title. Pages with different *frame* have different bytes."""
    paragraphs = "".join(f"<p>{line}</p>\n" for line in text.split("\n"))
    return f"<html><body><nav>{frame}</nav><main>{paragraphs}</main></body>".encode("utf-8", "replace")


def config(scheme: str, **settings: Any) -> Config:
    """Return a configuration with the tokenizer ``bigrams``, which needs no dictionary."""
    return Config(**{"tokenizer": "bigrams", "scheme": scheme, **settings})
