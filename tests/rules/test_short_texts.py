"""Short texts without links, such as comments and messages, are found again, and no other text is taken for one."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from crawler_dedup import Config, Deduplicator, Verdict

WORDS = {
    "ar": "في من على أن إلى هذا كان التي عن مع ما لا كل بعد قد بين لم عند هو حتى يوم بيت ماء مدينة رجل كتاب باب عمل",
    "de": "der und ist nicht ein mit auf für von dem auch an aus er dass sie wird noch über Haus Wasser Stadt Jahr Tag",
    "en": "the of to and in is it you that he was for on are as his they be at this from but what water day people may",
    "es": "de la que el en y los se del las un por con no una para es lo como más pero sus agua casa año día vez puede",
    "fr": "le de un être et il avoir ne je son que se qui ce dans en du elle au pour pas sur plus jour homme femme",
    "ko": "나는 그는 우리 오늘 내일 어제 학교 집 물 친구 사람 시간 일 책 길 도시 하루 밤 아침 저녁 마음 생각 말 눈 손 발",
    "ru": "и в не на я он с что а по это она к но мы весь из у то за свой от так о же год для вы ты время дом вода",
    "zh": "我 们 今 天 去 学 校 看 书 他 说 这 个 城 市 的 水 很 好 明 年 会 有 新 桥 大 家 都 知 道 风 雨 山 河 日 月",
}
COPIES_FOUND = 0.98


def make_texts(language: str, count: int) -> list[str]:
    """Return different texts of 8 to 25 words of one short list."""
    source, words = random.Random(language), WORDS[language].split()
    joint, times = ("", 2) if language == "zh" else (" ", 1)
    return [joint.join(source.choices(words, k=times * source.randint(8, 25))) for _ in range(count)]


@pytest.mark.parametrize("scheme", ["simhash", "minhash"])
def test_copies_of_short_texts_are_found_in_eight_languages_and_others_are_kept(tmp_path: Path, scheme: str) -> None:
    texts = [text for language in WORDS for text in make_texts(language, 25)]
    assert len(set(texts)) == 200
    verdicts: dict[str, Counter[Verdict]] = {"first": Counter(), "copy": Counter()}
    with Deduplicator.open(tmp_path, Config(tokenizer="bigrams", scheme=scheme)) as deduplicator:
        for occurrence, seen in verdicts.items():
            for number, text in enumerate(texts):
                url = f"http://{occurrence}{number % 7}.test/{number}"
                seen[deduplicator.check(url, f"<meta charset=utf-8><p>{text}</p>".encode()).verdict] += 1
    assert verdicts["first"] == {Verdict.NEW: len(texts)}
    assert verdicts["copy"][Verdict.DUPLICATE] >= COPIES_FOUND * len(texts)
