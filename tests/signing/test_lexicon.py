"""Lexica are counted correctly, written and read, refused if they are damaged, and never mixed."""

import math
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler_dedup import ConfigError, Deduplicator, IndexMismatch
from crawler_dedup.signing.features import normalise
from crawler_dedup.signing.initials import LETTERS, find_initials, initial_of_each, initials_in_context
from crawler_dedup.signing.lexicon import SHINGLE_WIDTH, Lexicon, build, general, lexicon_digest, lexicon_of
from crawler_dedup.signing.schemes import NAMES, scheme_of
from crawler_dedup.signing.wordtables import read_phrases
from crawler_dedup.system.compression import compress
from tests.support.examples import examples
from tests.support.prose import SAMPLES, config, text_of

MAGIC = b"crawler-dedup lexicon 1\n"


# Counting


def test_a_collection_is_counted_the_same_however_many_documents_are_counted_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = make_lexicon()
    assert (whole.digest, whole.documents) == ("81c798abc36c0690", len(SAMPLES) + 3)
    for documents in (1, 3, 8):
        monkeypatch.setattr("crawler_dedup.signing.lexicon._SLICE", documents)
        sliced = make_lexicon()
        for name in ("words", "counts", "initial_counts"):
            assert getattr(sliced, name).tolist() == getattr(whole, name).tolist()
        assert {*whole.shingles.tolist()} <= {*sliced.shingles.tolist()}
        assert (sliced.shingles[1:] > sliced.shingles[:-1]).all()


def test_a_common_shingle_is_known_although_it_was_forgotten_while_it_was_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 1,000 documents 101 have it: it is forgotten once, and must not be forgotten when it comes again."""
    for name, value in (("_SLICE", 100), ("COMMON_SHARE", 0.1), ("_ERROR", 0.01)):
        monkeypatch.setattr(f"crawler_dedup.signing.lexicon.{name}", value)
    common, rare = text_of("five words that come again"), text_of("one in a hundred documents")
    texts = []
    for slice_number, times in enumerate([1, 2, *[14] * 7, 0]):
        fillers = [text_of(" ".join(f"{letter}{slice_number} {at}" for letter in "abc")) for at in range(99 - times)]
        texts += [common] * times + [rare] + fillers
    assert build(texts).shingles.tolist() == common.shingles(SHINGLE_WIDTH).tolist()


def test_a_shingle_of_over_a_hundredth_of_the_documents_is_common() -> None:
    text = text_of("five words that come again")
    filler = [text_of(f"v{number} w{number} x{number} y{number} z{number}") for number in range(396)]
    assert [len(build([*filler[times:], *[text] * times]).shingles) for times in (3, 4)] == [0, 1]


# Rarity


@given(st.integers(2, 10**6), st.dictionaries(st.integers(0, 2**64 - 1), st.integers(1, 10**6), max_size=9))
def test_rarity_equals_that_of_a_slow_reference(documents: int, drawn: dict[int, int]) -> None:
    counts = {word: min(drawn[word], documents) for word in sorted(drawn)}
    words, times = np.array([*counts], dtype=np.uint64), np.array([*counts.values()], dtype=np.uint32)
    lexicon = Lexicon(documents, words, times, np.zeros(0, dtype=np.uint64), np.zeros(26, dtype=np.uint64))
    queried = sorted({0, 5, 2**64 - 1, *counts}, reverse=True)
    for word, rarity in zip(queried, lexicon.rarity(np.array(queried, dtype=np.uint64)).tolist(), strict=True):
        if word not in counts:
            assert math.isnan(rarity)
        else:
            assert 0 <= rarity <= 1
            assert rarity == round(1000 * rarity) / 1000
            assert abs(rarity - math.log(documents / counts[word]) / math.log(documents)) <= 0.000501


# The file


def make_lexicon() -> Lexicon:
    return build(
        [text_of(raw) for raw in SAMPLES.values()] + [text_of(SAMPLES["tea-house"] + f" {n}") for n in range(3)]
    )


@pytest.mark.parametrize("make", [make_lexicon, general, lambda: build([])], ids=["own", "general", "empty"])
def test_a_lexicon_that_was_written_is_read_back(tmp_path: Path, make: Callable[[], Lexicon]) -> None:
    written, path = make(), str(tmp_path / "a.lexicon")
    written.write(Path(path))
    read = lexicon_of(path)
    assert (read.documents, read.digest, lexicon_digest(path)) == (written.documents, written.digest, written.digest)
    for name in ("words", "counts", "shingles", "initial_counts"):
        ours, theirs = getattr(read, name), getattr(written, name)
        assert (ours.dtype, ours.tolist()) == (theirs.dtype, theirs.tolist())
    assert [file.name for file in tmp_path.iterdir()] == ["a.lexicon"]


def test_a_digest_depends_on_all_of_the_content() -> None:
    first = make_lexicon()
    assert len(first.shingles) > 100
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


SOUND = packed(10, bytes(15) + b"\1", bytes(8))
NO_LEXICA = {
    "empty": b"",
    "another version": SOUND.replace(b"lexicon 1", b"lexicon 2"),
    "cut off": SOUND[:-1],
    "other content": MAGIC + compress(b"x" * 1000),
    "parts of another kind": packed("ten"),
    "more words than counts": packed(words=bytes(15) + b"\1", counts=bytes(4)),
    "a word twice": packed(words=bytes(16), counts=bytes(8)),
    "words in another order": packed(words=b"\1" + bytes(15), counts=bytes(8)),
    "25 letters": packed(letters=bytes(200)),
    "said to be larger than any": MAGIC + b"\x28\xb5\x2f\xfd\xe0" + (1 << 62).to_bytes(8, "little") + bytes(20),
}


@pytest.mark.parametrize("kind", [*NO_LEXICA, "missing", "a directory"])
def test_no_index_is_made_with_a_lexicon_that_cannot_be_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "words"
    path.write_bytes(SOUND)
    assert lexicon_of(str(path)).documents == 10
    path = tmp_path if kind == "a directory" else tmp_path / "broken"
    if kind in NO_LEXICA:
        path.write_bytes(NO_LEXICA[kind])
    with pytest.raises(ConfigError) as refused:
        Deduplicator.open(tmp_path / "index", config(f"ddw lexicon={path}"))
    assert re.search(
        r"is not a lexicon; `crawler-dedup lexicon build` makes one\.$|cannot be read: .", str(refused.value)
    )
    assert str(path) in str(refused.value)
    assert not (tmp_path / "index").exists()


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


# English and Chinese in general


def test_the_general_lexicon_has_not_changed() -> None:
    """Another digest means another lexicon, with which indexes made with this one are refused."""
    assert general().digest == "056e6d37fdfe1319"
    assert lexicon_digest("general") == "b3b25cbf50c70ef5"
    assert lexicon_of("general") is general()


# Schemes that depend on a lexicon

DEPENDENT = ("imatch", "ddw", "pinyin", "shingling")


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the path of a lexicon of the samples."""
    path = tmp_path_factory.mktemp("lexica") / "own"
    make_lexicon().write(path)
    return str(path)


@pytest.mark.parametrize("scheme", DEPENDENT)
def test_an_index_made_with_another_lexicon_is_refused_and_it_is_named(tmp_path: Path, own: str, scheme: str) -> None:
    for number, (made_with, name) in enumerate(((own, "general"), ("general", own))):
        for _ in range(2):
            Deduplicator.open(tmp_path / f"{number}", config(f"{scheme} lexicon={made_with}")).close()
        with pytest.raises(IndexMismatch) as refused:
            Deduplicator.open(tmp_path / f"{number}", config(f"{scheme} lexicon={name}"))
        assert set(refused.value.differences) == {"lexicon"}
        assert repr(lexicon_digest(own)) in str(refused.value)


def test_keys_and_agreement_need_no_lexicon_which_commands_on_an_index_do_not_have(own: str) -> None:
    for name in DEPENDENT:
        scheme = scheme_of(f"{name} lexicon={own}")
        without = scheme_of(scheme.spec)
        for raw in SAMPLES.values():
            signature, longer = (scheme.sign(text_of(text)) for text in (raw, raw + raw[:20]))
            assert list(without.keys(signature)) == list(scheme.keys(signature))
            assert list(without.probes(signature)) == list(scheme.probes(signature))
            assert without.compare(signature, longer) == scheme.compare(signature, longer)


def test_schemes_that_take_no_lexicon_and_shingles_of_another_width_are_refused_with_one(own: str) -> None:
    for name in set(NAMES) - set(DEPENDENT):
        assert not scheme_of(name).depends_on
        with pytest.raises(ConfigError, match=r"does not use a lexicon|has no option lexicon"):
            scheme_of(f"{name} lexicon={own}")
    with pytest.raises(ConfigError, match="A lexicon counts shingles of 5, so shingle=3 cannot be used with one"):
        scheme_of(f"shingling shingle=3 lexicon={own}")


# Letters


def test_the_letters_of_a_text_are_first_letters_of_words_and_of_readings_of_characters() -> None:
    raw = "The 茶馆 opens, 3 mal; ドア Ünder чай 龘"
    assert "".join(LETTERS[letter] for letter in find_initials(normalise(raw)).tolist()) == "tcgomd"


def test_every_phrase_of_the_table_is_read_as_it_says() -> None:
    read_otherwise = set()
    for phrase, initials in read_phrases():
        letters = "".join(LETTERS[letter] for letter in find_initials(normalise(phrase)).tolist())
        if letters != initials:
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
