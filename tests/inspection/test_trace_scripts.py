"""``crawler-dedup trace`` with the scheme winnowing: whatever script a passage is in, it is found in a real index."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawler_dedup import Deduplicator
from crawler_dedup.index.index import Index
from crawler_dedup.index.maintenance import open_pages
from crawler_dedup.inspection.trace import find_sources
from crawler_dedup.signing.features import normalise
from crawler_dedup.signing.schemes.winnowing import Winnowing
from tests.support.commandline import invoke, lines_by_type, printed_text
from tests.support.prose import config, html

WINNOWING = Winnowing()
ALPHABETS = {
    "Latin": "abcdefghijklmnopqrstuvwxyzéøß",
    "Greek": "αβγδεζηθικλμνξοπρστυφχψω",
    "Cyrillic": "абвгдежзийклмнопрстуфхцчшщыэюя",
    "Arabic": "ابتثجحخدذرزسشصضطظعغفقكلمنهوي",
    "Hebrew": "אבגדהוזחטיכלמנסעפצקרשת",
    "Devanagari": "अआइईउऊएऐओऔकखगघचछजझटठडढतथदधनपफबभमयरलवशषसह",
    "Thai": "กขคงจฉชซญดตถทธนบปผฝพฟภมยรลวศสหอฮ",
    "Hangul": "가나다라마바사아자차카타파하거너더러머버서어저처",
    "kana": "あいうえおかきくけこさしすせそたちつてとなにぬねのアイウエオ",
    "Han": "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏闰余成岁律吕调阳云腾致雨露结为霜",
}
BY_CHANCE = 6
"""Letters beside a passage that may be the same in text and page."""


def words(script: str, seed: int, count: int) -> str:
    """Return words of this script, in sentences."""
    source = random.Random(f"{script} {seed}")
    made_words = ["".join(source.choices(ALPHABETS[script], k=source.randint(2, 9))) for _ in range(count)]
    return " ".join(word + (". " if number % 9 == 8 else "") for number, word in enumerate(made_words))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("pages") / "index"
    with Deduplicator.open(directory, config("winnowing")) as crawl:
        for script in ALPHABETS:
            for seed in range(3):
                crawl.check(f"http://{script}.org/{seed}", html(words(script, seed, 400)), encoding="utf-8")
    return directory


@pytest.fixture(scope="module")
def store(index: Path) -> Iterator[Index]:
    pages = open_pages(index)
    yield pages
    pages.close()


@pytest.mark.parametrize("script", ALPHABETS)
def test_every_passage_of_the_guaranteed_length_is_traced_to_its_place(store: Index, script: str) -> None:
    source = random.Random(script)
    for seed in range(3):
        plain = normalise(words(script, seed, 400))
        places = WINNOWING.find_letters(plain)
        for _ in range(8):
            start = source.randrange(len(places) - WINNOWING.guarantee)
            passage = plain[places[start] : places[start + WINNOWING.guarantee - 1] + 1]
            before = words(script, 90, 60)
            text = normalise(f"{before} {passage.replace(' ', '')} {words(script, 91, 60)}")
            (source_page,) = find_sources(text, WINNOWING, store)
            assert source_page.page.url == f"http://{script}.org/{seed}"
            begin = len(WINNOWING.find_letters(normalise(before)))
            end = begin + len(WINNOWING.find_letters(passage))
            for traced_passage in source_page.passages:
                assert begin - BY_CHANCE <= traced_passage.start < traced_passage.end <= end + BY_CHANCE
                assert traced_passage.at - traced_passage.start == start - start % letters_of_one(script) - begin


def letters_of_one(script: str) -> int:
    return 3 if script in ("Thai", "Hangul", "kana", "Han") else 1


def test_a_complete_copy_among_others_is_named_with_its_shares(index: Path, tmp_path: Path) -> None:
    copied = [words("Cyrillic", 1, 400), words("Arabic", 2, 400)]
    (tmp_path / "copy.txt").write_text("\n".join([copied[0], words("Latin", 9, 200), copied[1]]), encoding="utf-8")
    printed = lines_by_type(invoke("trace", tmp_path / "copy.txt", index, "--json"))
    sources = {line["url"]: line for line in printed["source"]}
    assert set(sources) == {"http://Cyrillic.org/1", "http://Arabic.org/2"}
    letters = len(WINNOWING.find_letters(normalise((tmp_path / "copy.txt").read_text(encoding="utf-8"))))
    for url, text in zip(["http://Cyrillic.org/1", "http://Arabic.org/2"], copied, strict=True):
        copied_letters = len(WINNOWING.find_letters(normalise(text)))
        assert sources[url]["share_of_page"] == 1
        assert copied_letters - 2 * WINNOWING.guarantee <= sources[url]["share_of_text"] * letters <= copied_letters
        (passage,) = sources[url]["passages"]
        assert passage["end"] - passage["start"] >= copied_letters - 2 * WINNOWING.guarantee


def test_a_text_with_fewer_letters_than_are_compared_is_refused(index: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("天地玄黄宇宙洪荒日", encoding="utf-8")  # 27 letters
    refused = printed_text(invoke("trace", tmp_path / "text.txt", index, status=2))
    assert "fewer than 30 letters, the least that are compared" in refused
