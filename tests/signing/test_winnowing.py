"""Winnowing: every passage of t letters that two texts share is found, and none of fewer than k."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler_dedup import ConfigError
from crawler_dedup.signing.features import normalise, size_in_letters, split_units
from crawler_dedup.signing.schemes import scheme_of
from crawler_dedup.signing.schemes.winnowing import WIDE_LETTERS, Winnowing, unpack
from tests.support.examples import examples
from tests.support.prose import mixed, prose, text_of
from tests.support.reference import slow_mixed, slow_polynomial

WIDE = "天地玄黄宇宙洪荒かなカナ한글กขค"
NARROW = "abcdeфыва0123άλφאבגअआइ"
BETWEEN = ["", "", "", "", " ", ", ", ". ", "。", "\n", " — ", "！"]
SCHEMES = st.builds(
    lambda noise, longer: Winnowing(noise=noise, guarantee=max(30, noise + longer)),
    st.integers(4, 40),
    st.integers(0, 60),
)


def letters_of(raw: str) -> list[str]:
    """Return the letters of a text; a character that counts as several letters is repeated."""
    return [
        character
        for unit in split_units(normalise(raw))
        for character in unit
        for _ in range(size_in_letters(character))
    ]


@st.composite
def passages(draw: st.DrawFn, alphabet: str, least: int, most: int) -> str:
    """Draw texts of limited length with few different letters, so that passages are repeated."""
    kinds = draw(st.lists(st.sampled_from(alphabet), min_size=1, max_size=12, unique=True))
    count = draw(st.integers(least, most))
    characters: list[str] = []
    size = 0
    while size < count:
        characters.append(draw(st.sampled_from(kinds)))
        size += WIDE_LETTERS if characters[-1] in WIDE else 1
    return "".join(characters)


def with_other_punctuation(text: str, seed: int) -> str:
    source = random.Random(seed)
    return "".join(character + source.choice(BETWEEN) for character in text)


def numbers_of(scheme: Winnowing, raw: str) -> set[int]:
    """Return the hashes by which a page with this text is filed."""
    return set(unpack(scheme.value(text_of(raw))).numbers.tolist())


def hashes_of_runs(letters: list[str], width: int) -> list[int]:
    """Return a polynomial of the hashed code points of each run."""
    codes = [slow_mixed(ord(letter)) for letter in letters]
    return [slow_polynomial(codes[at : at + width]) for at in range(len(codes) - width + 1)]


# The guarantee


@settings(max_examples=examples(120))
@given(data=st.data(), scheme=SCHEMES)
def test_every_shared_passage_of_the_guaranteed_length_is_found(data: st.DataObject, scheme: Winnowing) -> None:
    alphabet = NARROW[:5] + WIDE[:4] + data.draw(st.sampled_from([NARROW, WIDE]))
    passage = data.draw(passages(alphabet, scheme.guarantee, scheme.guarantee + 20))
    around = [data.draw(passages(alphabet, 0, 150)) for _ in range(4)]
    new, kept = (
        with_other_punctuation(around[at] + passage + around[at + 1], data.draw(st.integers(0, 9))) for at in (0, 2)
    )
    of_passage = {number >> 16 for number in hashes_of_runs(letters_of(passage), scheme.noise)}
    assert numbers_of(scheme, new) & numbers_of(scheme, kept) & of_passage


@settings(max_examples=examples(100))
@given(data=st.data(), scheme=SCHEMES)
def test_no_shared_passage_shorter_than_the_noise_is_found(data: st.DataObject, scheme: Winnowing) -> None:
    new, kept = (data.draw(passages(NARROW + WIDE, scheme.noise, 200)) for _ in range(2))
    runs = [
        {tuple(letters[at : at + scheme.noise]) for at in range(len(letters) - scheme.noise + 1)}
        for letters in (letters_of(new), letters_of(kept))
    ]
    if not runs[0] & runs[1]:
        assert not numbers_of(scheme, new) & numbers_of(scheme, kept)


# The choice


def test_the_choice_in_a_long_text_does_not_depend_on_the_slices_read(monkeypatch: pytest.MonkeyPatch) -> None:
    scheme, text = Winnowing(), text_of("\n".join(mixed(seed) for seed in range(8)) + "x" * 3_000)
    whole = scheme.value(text)
    for together in (100, 977, 4_096):
        monkeypatch.setattr("crawler_dedup.signing.schemes.winnowing._TOGETHER", together)
        assert scheme.value(text) == whole


@pytest.mark.parametrize("raw", ["x" * 200_000, "ab" * 100_000, "茶" * 70_000, "茶馆门前的老人。" * 9_000], ids=len)
def test_a_repetitive_text_takes_no_more_room_than_another(raw: str) -> None:
    scheme = Winnowing()
    value = scheme.value(text_of(raw))
    assert 0 < len(value) < 8 * 2 * len(letters_of(raw)) / 61 + 100


def test_a_text_with_too_many_chosen_runs_agrees_with_equal_texts_only(monkeypatch: pytest.MonkeyPatch) -> None:
    scheme, text = Winnowing(), text_of(prose(1))
    value = scheme.value(text)
    monkeypatch.setattr("crawler_dedup.signing.schemes.winnowing.MAX_CHOSEN", len(scheme.keys_of(value)))
    assert scheme.value(text) == value
    monkeypatch.setattr("crawler_dedup.signing.schemes.winnowing.MAX_CHOSEN", len(scheme.keys_of(value)) - 1)
    signature = scheme.sign(text)
    assert signature.value == b""
    assert scheme.compare(signature, signature) is not None
    assert scheme.compare(signature, scheme.sign(text_of(prose(1) + " x"))) is None


def test_64_hashes_of_a_long_text_are_looked_up() -> None:
    scheme = Winnowing()
    signature = scheme.sign(text_of(prose(1, 200)))
    assert len(scheme.probes(signature)) == 64 < len(scheme.keys(signature))
    assert set(scheme.probes(signature)) < set(scheme.keys(signature))


# Options


def test_a_guarantee_below_the_noise_is_refused_with_a_sentence() -> None:
    with pytest.raises(ConfigError) as refused:
        scheme_of("winnowing noise=60 guarantee=50")
    assert str(refused.value).startswith("guarantee=50 is not allowed with noise=60: ")
    assert scheme_of("winnowing noise=60 guarantee=60").spec == "winnowing wide=3 noise=60 guarantee=60"
