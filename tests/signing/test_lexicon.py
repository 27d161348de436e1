"""Lexica are counted correctly, written and read, refused if they are damaged, and never mixed."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pypinyin import Style, lazy_pinyin
from xxhash import xxh3_64_intdigest

from crawler_dedup import ConfigError, Deduplicator, IndexMismatch, Verdict
from crawler_dedup.errors import DedupError
from crawler_dedup.index import maintenance
from crawler_dedup.index.export import Export
from crawler_dedup.signing.features import normalise, split_units
from crawler_dedup.signing.initials import (
    LETTERS,
    NO_INITIAL,
    find_initial_positions,
    find_initials,
    initial_of_each,
    initials_in_context,
)
from crawler_dedup.signing.lexicon import (
    COMMON_SHARE,
    SHINGLE_WIDTH,
    Lexicon,
    build,
    general,
    lexicon_digest,
    lexicon_of,
)
from crawler_dedup.signing.lookup import lookup_of
from crawler_dedup.signing.schemes import NAMES, scheme_of
from crawler_dedup.signing.tables import read_phrases
from crawler_dedup.signing.text import Text
from crawler_dedup.spiders.demo_site import DEMO_TEXTS
from crawler_dedup.system.compression import compress, zstd
from tests.support.examples import examples
from tests.support.prose import ODD, SAMPLES, config, html, prose, text_of
from tests.support.verification import verify

MAGIC = b"crawler-dedup lexicon 1\n"
WORDS = "tram depot the honey lime 茶馆 老 船夫 don't 3 ชา".split()


def hash_of(word: str) -> int:
    return xxh3_64_intdigest(word.encode("utf-8", "replace"))


def rarity_of(lexicon: Lexicon, *words: str) -> list[float]:
    rarities: list[float] = lexicon.rarity(np.array([hash_of(word) for word in words], dtype=np.uint64)).tolist()
    return rarities


def assert_equal(left: Lexicon, right: Lexicon) -> None:
    assert left.documents == right.documents
    assert left.digest == right.digest
    for name in ("words", "counts", "shingles", "initial_counts"):
        mine, theirs = getattr(left, name), getattr(right, name)
        assert mine.dtype == theirs.dtype, name
        assert np.array_equal(mine, theirs), name


# Counting


def slow(texts: list[Text]) -> tuple[dict[int, int], Counter[int], dict[str, int]]:
    """Count the texts that have each token and each run of units, and the occurrences of each letter."""
    tokens: Counter[int] = Counter()
    runs: Counter[int] = Counter()
    letters: Counter[str] = Counter()
    for text in texts:
        tokens.update({hash_of(token) for token in text.tokens})
        runs.update(set(text.shingles(SHINGLE_WIDTH).tolist()))
        letters.update(LETTERS[number] for number in find_initials(text.plain).tolist())
    return dict(tokens), runs, {letter: letters[letter] for letter in LETTERS}


def expect(texts: list[Text]) -> Lexicon:
    lexicon = build(iter(texts))
    words, runs, letters = slow(texts)
    assert lexicon.documents == len(texts)
    assert lexicon.words.tolist() == sorted(words)
    assert dict(zip(lexicon.words.tolist(), lexicon.counts.tolist(), strict=True)) == words
    assert (lexicon.shingles[1:] > lexicon.shingles[:-1]).all()
    common = {run for run, count in runs.items() if count > max(COMMON_SHARE * len(texts), 2)}
    nearly = {run for run, count in runs.items() if count > max(0.9 * COMMON_SHARE * len(texts), 2)}
    assert common <= set(lexicon.shingles.tolist()) <= nearly
    assert dict(zip(LETTERS, lexicon.initial_counts.tolist(), strict=True)) == letters
    return lexicon


@settings(max_examples=examples(50))
@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), max_size=12))
def test_a_collection_is_counted_as_by_a_slow_reference(raws: list[str]) -> None:
    expect([text_of(raw) for raw in raws])


def test_all_slices_of_a_large_collection_are_counted() -> None:
    source = random.Random(1)
    few = [text_of(" ".join(source.choices(WORDS, k=source.randint(0, 9)))) for _ in range(150)]
    lexicon = expect(source.choices(few, k=2_345))
    assert len(lexicon.shingles) > 30


def test_real_and_odd_texts_are_counted() -> None:
    expect([text_of(raw) for raw in {**SAMPLES, **ODD}.values()])


def test_the_lexicon_of_an_empty_collection_knows_no_word() -> None:
    lexicon = expect([])
    assert math.isnan(rarity_of(lexicon, "tram")[0])
    assert lexicon.rarity(np.zeros(0, dtype=np.uint64)).tolist() == []


def test_no_common_shingle_is_forgotten_wherever_its_documents_stand() -> None:
    """Common shingles occur evenly, at the beginning, or only at the end, as those of the pages of one site."""
    boilerplate = [text_of(f"all rights reserved by {name}") for name in ("everybody", "beginners", "latecomers")]
    fillers = [text_of(f"a{number} b{number} c{number} d{number} e{number}") for number in range(900)]
    seldom = text_of("one in five hundred documents")

    def documents() -> Iterator[Text]:
        for number in range(60_000):
            if number % 70 == 7:
                yield boilerplate[0]
            elif number < 10_000 and number % 10 == 3:
                yield boilerplate[1]
            elif number >= 35_000 and number % 30 == 1:
                yield boilerplate[2]
            elif number % 500 == 9:
                yield seldom
            else:
                yield fillers[number % 900]

    common_shingles = set(build(documents()).shingles.tolist())
    common = [int(text.shingles(SHINGLE_WIDTH)[0]) for text in boilerplate]
    assert [shingle in common_shingles for shingle in common] == [True, True, True]
    assert int(seldom.shingles(SHINGLE_WIDTH)[0]) not in common_shingles


def test_a_shingle_is_common_from_three_documents_on() -> None:
    text, changed = text_of("five words that come again"), text_of("five words that come once")
    assert len(expect([text] * 2 + [changed]).shingles) == 0
    assert len(expect([text] * 3 + [changed]).shingles) == 1
    filler = [text_of(f"v{number} w{number} x{number} y{number} z{number}") for number in range(396)]
    assert len(expect([*filler, *[text] * 4]).shingles) == 0
    assert len(expect([*filler[:-1], *[text] * 5]).shingles) == 1


# Rarity


@given(
    st.integers(2, 10**6),
    st.lists(
        st.tuples(st.integers(0, 2**64 - 1), st.integers(1, 10**6)),
        max_size=9,
        unique_by=lambda word_and_count: word_and_count[0],
    ),
)
def test_rarity_equals_that_of_a_slow_reference(documents: int, counts: list[tuple[int, int]]) -> None:
    counts = sorted((word, min(count, documents)) for word, count in counts)
    lexicon = Lexicon(
        documents,
        np.array([word for word, _ in counts], dtype=np.uint64),
        np.array([count for _, count in counts], dtype=np.uint32),
        np.zeros(0, dtype=np.uint64),
        np.zeros(26, dtype=np.uint64),
    )
    queried = sorted({0, 5, 2**64 - 1, *(word for word, _ in counts)}, reverse=True)
    rarities = lexicon.rarity(np.array(queried, dtype=np.uint64)).tolist()
    known = dict(counts)
    for word, rarity in zip(queried, rarities, strict=True):
        if word not in known:
            assert math.isnan(rarity)
        else:
            assert 0 <= rarity <= 1
            assert rarity == round(1000 * rarity) / 1000
            assert abs(rarity - math.log(documents / known[word]) / math.log(documents)) <= 0.000501


# The file


def make_lexicon() -> Lexicon:
    return build(
        [text_of(raw) for raw in SAMPLES.values()] + [text_of(SAMPLES["tea-house"] + f" {n}") for n in range(3)]
    )


def test_a_lexicon_that_was_written_is_read_back(tmp_path: Path) -> None:
    written = make_lexicon()
    assert len(written.shingles) > 100
    written.write(tmp_path / "a.lexicon")
    assert_equal(lexicon_of(str(tmp_path / "a.lexicon")), written)
    assert lexicon_digest(str(tmp_path / "a.lexicon")) == written.digest
    assert [path.name for path in tmp_path.iterdir()] == ["a.lexicon"]
    lexicon = lexicon_of(str(tmp_path / "a.lexicon"))
    lexicon.write(tmp_path / "b.lexicon")
    assert (tmp_path / "b.lexicon").read_bytes() == (tmp_path / "a.lexicon").read_bytes()


def test_the_general_lexicon_and_an_empty_one_are_written_and_read_back(tmp_path: Path) -> None:
    for name, lexicon in (("general", general()), ("empty", build([]))):
        lexicon.write(tmp_path / name)
        assert_equal(lexicon_of(str(tmp_path / name)), lexicon)


def test_a_digest_depends_on_all_of_the_content() -> None:
    first = make_lexicon()
    assert first.digest == make_lexicon().digest
    assert re.fullmatch("[0-9a-f]{16}", first.digest)
    changed_lexica = [
        replace(first, documents=first.documents + 1),
        replace(first, words=first.words[::-1]),
        replace(first, counts=first.counts + np.uint32(1)),
        replace(first, shingles=first.shingles[1:]),
        replace(first, initial_counts=first.initial_counts + np.uint64(1)),
    ]
    assert len({first.digest, *(lexicon.digest for lexicon in changed_lexica)}) == 6


def packed(
    documents: object = 10, words: bytes = b"", counts: bytes = b"", shingles: bytes = b"", letters: bytes = bytes(208)
) -> bytes:
    return MAGIC + compress(msgspec.msgpack.encode([documents, words, counts, shingles, letters]))


def _without_size(content: bytes) -> bytes:
    return zstd.compress(content, options={zstd.CompressionParameter.content_size_flag: 0})


SOUND = packed(10, bytes(15) + b"\1", bytes(8))
NO_LEXICA: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "another version": lambda sound: sound.replace(b"lexicon 1", b"lexicon 2"),
    "cut in half": lambda sound: sound[: len(sound) // 2],
    "other content": lambda _: MAGIC + compress(b"x" * 1000),
    "parts of another kind": lambda _: packed("ten"),
    "more words than counts": lambda _: packed(words=bytes(16), counts=bytes(4)),
    "a word twice": lambda _: packed(words=bytes(16), counts=bytes(8)),
    "words in another order": lambda _: packed(words=b"\1" + bytes(15), counts=bytes(8)),
    "25 letters": lambda _: packed(letters=bytes(200)),
    "no size": lambda _: MAGIC + _without_size(SOUND[len(MAGIC) :]),
    "said to be larger than any": lambda _: (
        MAGIC + b"\x28\xb5\x2f\xfd\xe0" + (1 << 62).to_bytes(8, "little") + bytes(20)
    ),
}


@pytest.mark.parametrize("kind", NO_LEXICA)
def test_a_file_that_is_not_a_sound_lexicon_is_refused_with_a_sentence(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "words.lexicon"
    path.write_bytes(SOUND)
    assert lexicon_of(str(path)).documents == 10
    broken = tmp_path / "broken.lexicon"
    broken.write_bytes(NO_LEXICA[kind](SOUND))
    with pytest.raises(ConfigError) as refused:
        lexicon_of(str(broken))
    message = str(refused.value)
    assert str(broken) in message
    assert re.search(r"is no lexicon; `crawler-dedup lexicon build` makes one\.$|cannot be read: .", message)


@pytest.mark.parametrize("kind", ["missing", "a directory", "below a file", "NUL"])
def test_a_path_without_a_file_is_refused_with_a_sentence(tmp_path: Path, kind: str) -> None:
    (tmp_path / "file").write_bytes(SOUND)
    path = {
        "missing": tmp_path / "nothing",
        "a directory": tmp_path,
        "below a file": tmp_path / "file" / "words",
        "NUL": tmp_path / "a\0b",
    }[kind]
    with pytest.raises(ConfigError) as refused:
        lexicon_of(str(path))
    assert f"The lexicon {path} cannot be read: " in str(refused.value)


@settings(max_examples=examples(150))
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused_with_a_configuration_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    sound = bytearray(SOUND if data.draw(st.booleans()) else packed(10**5, bytes(range(160)), bytes(80)))
    for _ in range(data.draw(st.integers(1, 3))):
        sound[data.draw(st.integers(len(MAGIC), len(sound) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damaged") / "lexicon"
    path.write_bytes(sound)
    with suppress(ConfigError):
        read = lexicon_of(str(path))
        assert len(read.words) == len(read.counts)
        assert len(read.initial_counts) == len(LETTERS)


@pytest.mark.parametrize("scheme", ["imatch", "ddw", "pinyin", "shingling"])
def test_no_index_is_made_with_a_lexicon_that_cannot_be_read(tmp_path: Path, scheme: str) -> None:
    (tmp_path / "broken").write_bytes(SOUND[:-1])
    for name in ("missing", "broken"):
        with pytest.raises(ConfigError, match="lexicon"):
            Deduplicator.open(tmp_path / "index", config(f"{scheme} lexicon={tmp_path / name}"))
    assert not (tmp_path / "index").exists()


# English and Chinese in general


def test_the_general_lexicon_has_not_changed() -> None:
    """Another digest means another lexicon, with which indexes made with this one are refused."""
    assert general().digest == "056e6d37fdfe1319"
    assert lexicon_digest("general") == "b3b25cbf50c70ef5"
    assert lexicon_of("general") is general()


def test_the_general_lexicon_knows_frequent_and_rare_words_of_both_languages() -> None:
    frequent = rarity_of(general(), "the", "of", "page", "的", "我们", "一个")
    between = rarity_of(general(), "algorithm", "lighthouse", "algebra", "茶馆", "算法", "风筝")
    unknown = rarity_of(general(), "", "xqzzt", "茶馆灯塔", "The", "漢語")
    assert max(frequent) < min(between)
    assert all(0 <= rarity < 0.3 for rarity in frequent)
    assert all(0.2 < rarity < 1 for rarity in between)
    assert all(map(math.isnan, unknown))


# Indexes that depend on a lexicon

DEPENDENT = ("imatch", "ddw", "pinyin", "shingling")
OTHERS = [name for name in NAMES if name not in DEPENDENT]


@pytest.fixture(scope="module")
def small_lexicon(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the path of a lexicon of the samples."""
    path = tmp_path_factory.mktemp("lexica") / "own"
    make_lexicon().write(path)
    return str(path)


@pytest.fixture(scope="module")
def second_lexicon(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("lexica") / "another"
    build([text_of(prose(number, chinese=number % 2 == 0)) for number in range(9)]).write(path)
    return str(path)


@pytest.mark.parametrize("scheme", DEPENDENT)
def test_an_index_made_with_another_lexicon_is_refused_and_the_lexicon_named(
    tmp_path: Path, small_lexicon: str, second_lexicon: str, scheme: str
) -> None:
    for made_with, name in ((small_lexicon, second_lexicon), (small_lexicon, "general"), ("general", small_lexicon)):
        directory = tmp_path / f"{Path(made_with).name} {Path(name).name}"
        Deduplicator.open(directory, config(f"{scheme} lexicon={made_with}")).close()
        Deduplicator.open(directory, config(f"{scheme} lexicon={made_with}")).close()
        with pytest.raises(IndexMismatch) as refused:
            Deduplicator.open(directory, config(f"{scheme} lexicon={name}"))
        assert set(refused.value.differences) == {"lexicon"}
        digests = [
            lexicon_digest(lexicon_name)
            for lexicon_name in (made_with, name)
            if (scheme, lexicon_name) != ("shingling", "general")
        ]
        assert all(repr(digest) in str(refused.value) for digest in digests)


@pytest.mark.parametrize("scheme", OTHERS)
def test_other_schemes_take_no_lexicon(tmp_path: Path, small_lexicon: str, scheme: str) -> None:
    with pytest.raises(ConfigError, match=r"does not use a lexicon|has no option lexicon"):
        scheme_of(f"{scheme} lexicon={small_lexicon}")
    with Deduplicator.open(tmp_path / "index", config(scheme)):
        assert "lexicon" not in maintenance_spec(tmp_path / "index")


def maintenance_spec(directory: Path) -> dict[str, str]:
    pages = maintenance.open_pages(directory)
    try:
        return dict(pages.header.spec)
    finally:
        pages.close()


def test_shingles_of_another_width_than_those_of_the_lexicon_are_refused(small_lexicon: str) -> None:
    assert scheme_of("shingling shingle=3", config("shingling")).spec
    with pytest.raises(ConfigError, match="A lexicon counts shingles of 5, so shingle=3 cannot be used with one"):
        scheme_of(f"shingling shingle=3 lexicon={small_lexicon}")


# Maintenance uses the directory of an index and nothing else.


@pytest.mark.parametrize("scheme", DEPENDENT)
def test_an_index_with_a_lexicon_can_be_maintained(tmp_path: Path, small_lexicon: str, scheme: str) -> None:
    def body(name: str) -> bytes:
        return html(SAMPLES[name], name)

    kept = [name for name in SAMPLES if name != "short"]
    settings_of_it = config(f"{scheme} lexicon={small_lexicon}")
    with Deduplicator.open(tmp_path / "index", settings_of_it) as opened:
        for name in kept:
            assert opened.check(f"http://kept/{name}", body(name), encoding="utf-8").verdict is Verdict.NEW
    pages = maintenance.open_pages(tmp_path / "index")
    try:
        # Without its lexicon an index may be refused, but neither reported as damaged nor damaged.
        with suppress(DedupError):
            assert verify(pages, lookup_of(pages.header.spec)) == []
        maintenance.export_index(pages, tmp_path / "export", lambda _: None)
    finally:
        pages.close()
    with suppress(DedupError):
        maintenance.import_index(
            Export(tmp_path / "export"), tmp_path / "new", lookup_of, lambda _: None, lambda _: None
        )
    for directory in (tmp_path / "index", tmp_path / "new"):
        if not directory.exists():
            continue
        with Deduplicator.open(directory, settings_of_it) as opened:
            for name in kept:
                decision = opened.check(f"http://new/{name}", body(name), encoding="utf-8")
                assert decision.duplicate_of == f"http://kept/{name}", directory.name


# Letters


def test_the_letter_of_a_common_character_is_that_of_its_reading() -> None:
    characters = "".join(dict.fromkeys("".join(prose(seed, 40, chinese=True) for seed in range(20))))
    common = [character for character in characters if "\u4e00" <= character <= "\u9fff"]
    assert len(common) > 1_500
    expected = [lazy_pinyin(character, Style.FIRST_LETTER)[0] for character in common]
    assert [LETTERS[letter_number] for letter_number in initial_of_each("".join(common)).tolist()] == expected


def test_the_letters_of_a_text_are_first_letters_of_words_and_of_readings_of_characters() -> None:
    raw = "The 茶馆 opens, 3 mal; ドア Ünder чай 龘"
    plain = normalise(raw)
    assert "".join(LETTERS[letter_number] for letter_number in find_initials(plain).tolist()) == "tcgomd"
    for article in DEMO_TEXTS.chinese:
        firsts = "".join(unit[0] for unit in split_units(normalise("".join(article.paragraphs))))
        expected = [
            reading[0]
            for syllable in lazy_pinyin(firsts)
            for reading in ([syllable] if syllable not in firsts else syllable)
        ]
        letters = [LETTERS[letter_number] for letter_number in find_initials(firsts).tolist()]
        assert len(letters) == len(expected)
        # pypinyin may cut the words otherwise.
        assert sum(
            letter != expected_letter for letter, expected_letter in zip(letters, expected, strict=True)
        ) <= 0.002 * len(letters)


@pytest.mark.parametrize(
    ("phrase", "initials"),
    [("银行", "yh"), ("重庆", "cq"), ("音乐", "yy"), ("快乐", "kl"), ("一行人", "yxr"), ("会计", "kj"), ("长沙", "cs")],
)
def test_a_character_is_read_as_in_its_phrase(phrase: str, initials: str) -> None:
    for raw in (phrase, f"茶{phrase}茶", f"tea {phrase[:1]}，{phrase[1:]}"):
        assert initials in "".join(LETTERS[letter_number] for letter_number in find_initials(raw).tolist())


def test_phrases_have_the_readings_of_the_table_and_some_of_their_characters_other_readings_alone() -> None:
    phrases = dict(read_phrases())
    assert len(phrases) > 2_000
    otherwise = 0
    for phrase, initials in phrases.items():
        assert "".join(LETTERS[letter_number] for letter_number in initials_in_context(phrase).tolist()) == initials
        alone = [
            LETTERS[letter_number] if letter_number != NO_INITIAL else ""
            for letter_number in initial_of_each(phrase).tolist()
        ]
        otherwise += initials != "".join(alone)
    assert otherwise > 0.95 * len(phrases), "the others hold a phrase that is read otherwise in them"


def test_a_folded_phrase_has_the_reading_of_the_table_and_a_letter_for_each_character() -> None:
    read_otherwise = set()
    for phrase, initials in read_phrases():
        folded = normalise(phrase)
        letter_numbers = find_initials(folded).tolist()
        assert find_initial_positions(folded).tolist() == list(range(len(folded)))
        if "".join(LETTERS[letter_number] for letter_number in letter_numbers) != initials:
            read_otherwise.add(phrase)
    assert read_otherwise == {"抽祕骋妍"}, "of which the source has a folded form with another reading"


PHRASES = st.sampled_from(read_phrases()).map(lambda pair: pair[0])


@given(
    st.lists(PHRASES | PHRASES.map(lambda phrase: phrase[1:]) | st.sampled_from("长行重乐x茶3"), max_size=20).map(
        "".join
    )
)
def test_the_longest_phrase_is_used_from_left_to_right(characters: str) -> None:
    phrases = dict(read_phrases())
    expected = initial_of_each(characters).tolist()
    at = 0
    while at < len(characters):
        ends = [end for end in range(at + 1, len(characters) + 1) if characters[at:end] in phrases]
        if ends:
            expected[at : ends[-1]] = [LETTERS.index(letter) for letter in phrases[characters[at : ends[-1]]]]
        at = max([at + 1, *ends])
    assert initials_in_context(characters).tolist() == expected


def test_characters_without_a_letter_are_left_out() -> None:
    without = "3٣чаשかท한🍵\ud800\U00020000。"
    assert initial_of_each(without).tolist() == [NO_INITIAL] * len(without)
    assert find_initials(without).tolist() == []
    assert initial_of_each("").tolist() == []
