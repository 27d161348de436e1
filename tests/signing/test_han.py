from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup import Config, Decision, Deduplicator, Verdict
from crawler_dedup.hamming import distance
from crawler_dedup.signedpage import PageKind
from crawler_dedup.signing.characters import simplify_han
from crawler_dedup.signing.schemes import SimHash
from crawler_dedup.signing.segmentation import CutHan, han_cutter
from crawler_dedup.signing.text import Text
from crawler_dedup.spiders.demo_site import DEMO_TEXTS, Article
from tests.support.chinese import in_other_writing
from tests.support.data import documents

BLOCKS = (range(0x3400, 0xA000), range(0xF900, 0xFB00), range(0x20000, 0x323B0))
"""Where Chinese characters stand."""
EVERYTHING = "".join(map(chr, range(0x110000)))
ANYTHING = st.text(st.one_of(st.characters(), st.sampled_from("漢龍國語門馬著乾裏麵臺薴汉龙\ufa47\U0002cd8b")))
WRITINGS = ["s2t", "s2tw", "s2hk"]
"""Simplified → Traditional as OpenCC's own, of Taiwan, of Hong Kong."""

every_writing = pytest.mark.parametrize("writing", WRITINGS)


# Characters


@pytest.mark.parametrize(
    ("traditional", "text"),
    [
        ("漢語", "汉语"),
        ("龍門陣", "龙门阵"),
        ("裏裡里", "里里里"),
        ("頭髮發現", "头发发现"),
        ("瞭解著名", "了解着名"),
        ("汉语", "汉语"),
    ],
)
def test_a_traditional_character_becomes_its_simplified_form(traditional: str, text: str) -> None:
    assert simplify_han(traditional) == text


def test_only_chinese_characters_are_folded_and_only_to_chinese_characters() -> None:
    folded = simplify_han(EVERYTHING)
    assert len(folded) == len(EVERYTHING)
    changed = [(ord(before), ord(after)) for before, after in zip(EVERYTHING, folded, strict=True) if before != after]
    assert len(changed) > 3000
    assert all(any(code in block for block in BLOCKS) for pair in changed for code in pair)


def test_folding_twice_changes_only_a_handful_of_characters() -> None:
    once = simplify_han(EVERYTHING)
    assert sum(before != after for before, after in zip(once, simplify_han(once), strict=True)) <= 5


@given(ANYTHING)
def test_each_character_is_folded_by_itself(text: str) -> None:
    folded = simplify_han(text)
    assert len(folded) == len(text)
    assert folded == "".join(map(simplify_han, text))


# Texts


@pytest.fixture(scope="module", params=["rjieba", "bigrams"])
def cut_han(request: pytest.FixtureRequest) -> CutHan:
    return han_cutter(request.param)


def differing(first: Text, second: Text) -> float:
    """Return the share of tokens that only one of two texts has."""
    a, b = Counter(first.tokens), Counter(second.tokens)
    return ((a - b).total() + (b - a).total()) / (a.total() + b.total())


@every_writing
@pytest.mark.parametrize("article", DEMO_TEXTS.chinese, ids=lambda article: article.slug)
def test_a_text_in_traditional_and_simplified_characters_has_nearly_the_same_tokens(
    article: Article, writing: str, cut_han: CutHan
) -> None:
    raw = "\n".join(article.paragraphs)
    converted = in_other_writing(raw, writing)
    assert differing(Text(raw, cut_han), Text(converted, cut_han)) < 0.02


@every_writing
def test_real_texts_have_near_signatures_in_traditional_and_simplified_characters(data: Path, writing: str) -> None:
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


# Pages


TEXT, SHORT, LIST = KINDS = "a text", "a short text", "a list"
_KINDS = {TEXT: PageKind.TEXT, SHORT: PageKind.THIN, LIST: PageKind.THIN}


def page(article: Article, kind: str, title: str) -> str:
    paragraphs = "".join(f"<p>{paragraph}</p>" for paragraph in article.paragraphs)
    # OpenCC writes these two as 伕 and 枱, which it never folds. Blocks of thin pages must be equal.
    whole = "".join(article.paragraphs).replace("夫", "").replace("台", "")
    links = "".join(
        f'<li><a href="/{article.slug}/{number}">{text[:6]}</a> {text[6:10]}'
        for number, text in enumerate(whole.split("，"))
    )
    content = {
        TEXT: f"<article>{paragraphs}</article><a href=/next>{article.title}</a>",
        SHORT: f"<div>{article.paragraphs[0][:24]}</div><a href=/map>{article.paragraphs[1][:6]}</a>",
        LIST: f"<ul>{links}</ul>",
    }[kind]
    return f"<html><head><title>{title}</title></head><body><h1>{title}</h1>{content}</body></html>"


def decisions(directory: Path, kept: list[str], new: list[str], kind: str) -> list[Decision]:
    with Deduplicator.open(directory, Config(tokenizer="rjieba")) as deduplicator:
        for number, body in enumerate(kept):
            assert deduplicator.sign("http://a.org/", body.encode()).kind is _KINDS[kind]
            assert deduplicator.check(f"http://a.org/{number}/", body.encode(), encoding="utf-8").passes
        return [
            deduplicator.check(f"http://b.org/{number}/", body.encode(), encoding="utf-8")
            for number, body in enumerate(new)
        ]


@pytest.mark.parametrize("title", ["Tea & kites", ""], ids=["title in letters", "title in Chinese"])
@pytest.mark.parametrize("kept_is", ["simplified", "traditional"])
@pytest.mark.parametrize("writing", ["s2t", "s2hk"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_page_in_the_other_kind_of_characters_is_decided_as_the_page_itself(
    tmp_path: Path, kind: str, writing: str, kept_is: str, title: str
) -> None:
    simple = [page(article, kind, title or article.title) for article in DEMO_TEXTS.chinese]
    traditional = [in_other_writing(body, writing) for body in simple]
    kept = (simple if kept_is == "simplified" else traditional)[:2]
    decisions_by_start = {
        name: decisions(tmp_path / name, kept, new, kind)
        for name, new in (("simplified", simple), ("traditional", traditional))
    }
    for decided in decisions_by_start.values():
        assert [decision.verdict for decision in decided] == [Verdict.DUPLICATE, Verdict.DUPLICATE, Verdict.NEW]
        assert [decision.duplicate_of for decision in decided] == ["http://a.org/0/", "http://a.org/1/", ""]
