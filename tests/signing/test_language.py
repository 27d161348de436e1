"""The language of a text: by script, by stop words, or unknown."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup import Config
from crawler_dedup.signing.language import UNKNOWN, find_language
from crawler_dedup.signing.signer import Signer
from tests.support.crawling import words

SIGNER = Signer(Config(tokenizer="bigrams"))
_LINES = Path(__file__).with_name("sentences.txt").read_text(encoding="utf-8").splitlines()
SENTENCES = dict(line.split(" ", 1) for line in _LINES)
CODE = "func (node *Node) insert(value int) { if node.left == nil { node.left = newNode(value) } }\n"


def language_of(text: str) -> str:
    tokenised = SIGNER.text_of(text)
    return find_language(tokenised.plain, tokenised.tokens)


def test_the_language_of_a_sentence_is_recognised() -> None:
    for language, text in SENTENCES.items():
        assert language_of(text) == language


def test_traditional_and_simplified_chinese_are_one_language() -> None:
    traditional = "今天早上我去了圖書館，因為我想讀一本別人說過的書，可是那本書已經不在那裡了。"
    assert language_of(traditional) == "zh"
    assert find_language(traditional, list(traditional)) == "zh"  # not folded


def test_names_code_and_a_few_words_of_another_script_do_not_change_the_language_of_a_text() -> None:
    assert language_of(SENTENCES["zh"] * 2 + CODE) == "zh"
    assert language_of(SENTENCES["ru"] + CODE) == "ru"
    assert language_of(SENTENCES["en"] + " The title is 图书馆, in Russian Библиотека.") == "en"


SHORT = {
    "empty": "",
    "numbers": "42 1999 17:30",
    "a word": "the",
    "a menu": "Home Sign in",
    "invented words": " ".join(words("no language")),
    "units": "12 000 kg / 3 m² = 4 t/m²",
    "symbols": "☃" * 200,
}


def test_the_language_of_a_text_that_is_too_short_is_unknown() -> None:
    for text in SHORT.values():
        assert language_of(text) == UNKNOWN


@given(st.permutations(SENTENCES["nl"].split() + SENTENCES["de"].split()))
def test_the_order_of_words_does_not_change_the_language(shuffled: list[str]) -> None:
    assert language_of(" ".join(shuffled)) == language_of(SENTENCES["nl"] + " " + SENTENCES["de"])


@given(st.text(max_size=400))
def test_every_text_has_a_language_code_or_an_unknown_language(text: str) -> None:
    language = language_of(text)
    assert language == UNKNOWN or (len(language) == 2 and language.isascii() and language.islower())
