"""A text is the same text in whatever characters it is written, and as long."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup import Config, Deduplicator, SignedPage, Verdict
from crawler_dedup.permutedtables import distance
from crawler_dedup.signedpage import PageKind
from crawler_dedup.signing.characters import HAN, simplify_han
from crawler_dedup.signing.features import size_in_letters
from crawler_dedup.signing.schemes import SimHash
from crawler_dedup.signing.segmentation import han_cutter
from crawler_dedup.signing.signer import Signer
from crawler_dedup.signing.text import Text
from crawler_dedup.signing.titles import find_identifiers, split_title
from crawler_dedup.spiders.demo import DEMO_TEXTS
from tests.support.cases import read_cases
from tests.support.chinese import in_other_writing
from tests.support.data import documents

CASES = read_cases(__file__)["writings"]

ENGLISH, VIETNAMESE, PERSIAN, ARABIC = map(tuple, CASES.values())
# OpenCC writes these two as 伕 and 枱, which it never folds.
CHINESE = tuple(re.sub("[夫台]", "", "".join(DEMO_TEXTS.chinese[0].paragraphs)).split("。")[:5])


def after_letters(mark: str, text: str) -> str:
    """Write *mark* after every second letter within the words of *text*."""
    return " ".join(
        "".join(letter + mark * (place % 2 and place < len(word) - 1) for place, letter in enumerate(word))
        for word in text.split(" ")
    )


WRITINGS: dict[str, tuple[tuple[str, ...], Callable[[str], str]]] = {
    "decomposed": (VIETNAMESE, lambda text: normalize("NFD", text)),
    "soft hyphens": (ENGLISH, lambda text: after_letters("\u00ad", text)),
    "zero-width spaces": (ENGLISH, lambda text: after_letters("\u200b", text)),
    "joiners": (ENGLISH, lambda text: after_letters("\u200d\u2060\ufeff", text)),
    "marks of direction": (ENGLISH, lambda text: after_letters("\u200e\u202a\u2066", text)),
    "variation selectors": (ENGLISH, lambda text: after_letters("\ufe0f\U000e0100", text)),
    "soft hyphens in decomposed letters": (VIETNAMESE, lambda text: "\u00ad".join(normalize("NFD", text))),
    "without non-joiners": (PERSIAN, lambda text: text.replace("\u200c", "")),
    "letters of an Arabic keyboard": (PERSIAN, lambda text: text.replace("ی", "ي").replace("ک", "ك")),
    "vowel marks": (ARABIC, lambda text: after_letters("\u064e\u0651", text)),
    "tatweel": (ARABIC, lambda text: after_letters("\u0640", text)),
    "Traditional characters": (CHINESE, in_other_writing),
    "Traditional characters of Hong Kong": (CHINESE, partial(in_other_writing, writing="s2hk")),
}


def article(sentences: tuple[str, ...], write: Callable[[str], str] = str) -> str:
    """Return an article in whatever characters *write* makes of its title and sentences."""
    title = write(sentences[0][:40])
    paragraphs = "".join(f"<p>{write(sentence)}</p>" for sentence in sentences)
    return f"<html><head><title>{title}</title></head><body><main><h1>{title}</h1>{paragraphs}</main></body></html>"


def signed(body: str) -> SignedPage:
    return Signer(Config(tokenizer="bigrams")).sign(
        "http://a.org/", body.encode(), encoding="utf-8", key=None, scope=""
    )[0]


@pytest.mark.parametrize("name", WRITINGS)
def test_a_copy_in_other_characters_is_a_duplicate_of_the_same_size(deduplicator: Deduplicator, name: str) -> None:
    sentences, write = WRITINGS[name]
    plain, written = article(sentences), article(sentences, write)
    assert plain != written
    assert signed(plain).chars == signed(written).chars > 250
    for scope, first, second in (("written later", plain, written), ("written first", written, plain)):
        assert deduplicator.check("http://a.org/", first.encode(), scope=scope).verdict is Verdict.NEW
        assert deduplicator.check("http://b.org/", second.encode(), scope=scope).verdict is Verdict.DUPLICATE


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_text_that_says_more_is_kept_in_every_form(deduplicator: Deduplicator, form: Literal["NFC", "NFD"]) -> None:
    longer = article((*VIETNAMESE, VIETNAMESE[1], VIETNAMESE[0]))  # in the same words
    shorter = article(VIETNAMESE, lambda text: normalize(form, text))
    assert deduplicator.check("http://a.org/", shorter.encode()).verdict is Verdict.NEW
    assert deduplicator.check("http://b.org/", longer.encode()).verdict is Verdict.NEW


@pytest.mark.parametrize("name", WRITINGS)
def test_a_short_page_in_other_characters_has_the_same_blocks_title_and_links(name: str) -> None:
    sentences, write = WRITINGS[name]

    def short(write: Callable[[str], str]) -> SignedPage:
        title, line, button = write(sentences[0][:12]), write(sentences[1][:10]), write(sentences[2][:12])
        return signed(
            f"<html><head><title>{title}</title></head><body><h1>{title}</h1><p>{line}</p><button>{button}</button>"
            f"<a href=/next>{write(sentences[3][:8])}</a></body></html>"
        )

    plain, written = short(str), short(write)
    assert plain.kind is PageKind.THIN
    for part in ("signature", "blocks", "named", "chars", "link_chars"):
        assert getattr(plain, part) == getattr(written, part), part


def test_a_title_is_read_up_to_the_same_letter_in_other_characters() -> None:
    for sentences, write in WRITINGS.values():
        title = f"{' '.join(sentences)[:180]} | Site"
        if len(write(title)) <= 400:
            assert split_title(signed(f"<title>{write(title)}</title>").title) == split_title(title)
        assert find_identifiers(write("rgb_to_hsv")) == {"rgb_to_hsv"}


def test_a_paragraph_without_a_letter_that_is_read_makes_no_block() -> None:
    spacer = "<p>\u200b</p><p>&shy;</p>"
    assert signed(article(ENGLISH)).blocks == signed(article(ENGLISH).replace("</h1>", f"</h1>{spacer}")).blocks


SIZES = {
    0: ["", "\u200b"],
    3: ["tea", "thé", "the\u0301", "豈", "ｶﾞ", "가", "\u1100\u1161"],
    4: ["ﬁne"],
    10: ["茶馆，开"],
    6: ["茶馆", "찻집", "ชา", "ແຊ"],
    8: ["茶 tea，"],
    9: ["tea house"],
    12: ["été à Привет", "カタかな"],
    15: ["ဆိုင်", "កហ្វេ"],
}


def test_a_size_is_that_of_the_normalised_text_and_a_character_of_a_dense_script_counts_as_three() -> None:
    for size, texts in SIZES.items():
        assert {size_in_letters(text) for text in texts} == {size}


@given(st.text(), st.text())
def test_two_lines_together_have_the_sum_of_their_sizes(first: str, second: str) -> None:
    assert size_in_letters(f"{first}\n{second}") == size_in_letters(first) + 1 + size_in_letters(second)


# Chinese characters

ANYTHING = st.text(st.one_of(st.characters(), st.sampled_from("漢龍國語門馬著乾裏麵臺薴汉龙\ufa47\U0002cd8b")))
WRITINGS_OF_CHINESE = ["s2t", "s2tw", "s2hk"]
"""Simplified → Traditional as OpenCC's own, of Taiwan, of Hong Kong."""


def test_traditional_characters_become_simplified_ones() -> None:
    assert simplify_han("漢語 龍門陣 裏裡里 頭髮發現 瞭解著名 汉语") == "汉语 龙门阵 里里里 头发发现 了解着名 汉语"


def test_only_chinese_characters_are_folded_and_only_to_chinese_characters() -> None:
    characters = "".join(map(chr, range(0x110000)))
    changed = [pair for pair in zip(characters, simplify_han(characters), strict=True) if pair[0] != pair[1]]
    assert len(changed) > 5000
    assert all(HAN.fullmatch(character) for pair in changed for character in pair)


@given(ANYTHING)
def test_each_character_is_folded_by_itself(text: str) -> None:
    folded = simplify_han(text)
    assert len(folded) == len(text)
    assert folded == "".join(map(simplify_han, text))


def test_real_texts_have_near_signatures_in_traditional_and_simplified_characters(data: Path) -> None:
    for writing in WRITINGS_OF_CHINESE:
        gold = documents(data, "gold/gold.jsonl")
        texts = [
            document["text"] for document in gold if document["lang"].startswith("zh") and len(document["text"]) >= 200
        ]
        assert len(texts) > 20
        cut_han, scheme = han_cutter("rjieba"), SimHash()
        for raw in texts:
            new, kept = (
                scheme.sign(Text(writing_of_text, cut_han)) for writing_of_text in (in_other_writing(raw, writing), raw)
            )
            assert distance(new.number, kept.number) <= Config.max_distance
