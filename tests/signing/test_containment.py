"""Excerpts: what schemes measure of a page that stands in a kept one, and which look-ups find it by design."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup.hamming import distance
from crawler_dedup.signing.schemes import NAMES, Agreement, Scheme, scheme_of
from tests.support.prose import SAMPLES, prose, text_of

MEASURING = ("shingling", "minhash", "ddw", "sentences", "pinyin", "winnowing")
VARIANTS = (*NAMES, "shingling lookup=minima", "shingling lookup=mod", "sentences unit=stops")
TEXTS = st.text(st.sampled_from("tea 茶馆 dépôt. \n。"), max_size=200) | st.sampled_from([*SAMPLES.values()])


@pytest.fixture(scope="module", params=VARIANTS)
def scheme(request: pytest.FixtureRequest) -> Scheme:
    return scheme_of(str(request.param))


def excerpt(text: str, hundredths: int, place: int) -> str:
    """Cut an excerpt from the beginning (0), the middle (1) or the end (2)."""
    length = len(text) * hundredths // 100
    start = (len(text) - length) * place // 2
    return text[start : start + length]


@given(new=TEXTS, kept=TEXTS)
def test_texts_that_agree_are_measured_with_the_shares_by_which_they_agree(scheme: Scheme, new: str, kept: str) -> None:
    signatures = scheme.sign(text_of(new)), scheme.sign(text_of(kept))
    agreement, measured = scheme.compare(*signatures), scheme.measure(*signatures)
    if scheme.name == "simhash":
        assert measured == Agreement(distance=distance(*(signature.number for signature in signatures)))
    elif agreement is not None and agreement.coverage is not None and scheme.name != "pinyin":
        assert measured == agreement
    elif agreement is not None and agreement.coverage is not None:  # its resemblance is the smaller one of two shares
        assert measured is not None
        assert measured.coverage == agreement.coverage
        assert min(measured.resemblance or 0, measured.coverage or 0) == agreement.resemblance
    for measure in (measured.resemblance, measured.coverage) if measured else ():
        assert measure is None or 0 <= measure <= 1


@pytest.mark.parametrize("name", MEASURING)
def test_shares_are_measured_also_of_texts_that_do_not_agree(name: str) -> None:
    scheme = scheme_of(name)
    for seed in range(3):
        whole, unrelated = (scheme.sign(text_of(prose(number, 120, chinese=True))) for number in (seed, seed + 5))
        part = scheme.sign(text_of(excerpt(prose(seed, 120, chinese=True), 30, 1)))
        assert scheme.compare(part, whole) is None
        assert scheme.compare(unrelated, whole) is None
        of_part, of_other = scheme.measure(part, whole), scheme.measure(unrelated, whole)
        assert of_part is not None
        assert of_other is not None
        assert (of_part.coverage or 0) > (of_other.coverage or 0)
        assert (of_part.resemblance or 0) > (of_other.resemblance or 0)


FINDING = {  # from which length on they find every excerpt of a long text
    "shingling lookup=minima": 50,
    "shingling lookup=mod": 20,
    "winnowing resemblance=0": 10,
    "winnowing": 70,
}


@pytest.mark.parametrize("name", FINDING)
@pytest.mark.parametrize("chinese", [False, True])
def test_excerpts_of_sufficient_length_are_found(name: str, chinese: bool) -> None:
    scheme = scheme_of(name)
    for seed in range(6):
        raw = prose(seed, 160, chinese=chinese)
        whole = scheme.sign(text_of(raw))
        for hundredths in range(FINDING[name], 100, 10):
            part = scheme.sign(text_of(excerpt(raw, hundredths, seed % 3)))
            assert scheme.finds(part, whole), (seed, hundredths)
            assert scheme.compare(part, whole) is not None, (seed, hundredths)
            assert scheme.compare(whole, part) is None or hundredths > 75, (seed, hundredths)


@pytest.mark.parametrize(("lookup", "least"), [("supershingles", 0.7), ("minima", 0.3), ("mod", 0.0)])
def test_the_least_resemblance_follows_from_the_lookup_unless_it_is_given(lookup: str, least: float) -> None:
    raw = prose(2, 200)
    texts = [text_of(excerpt(raw, hundredths, 0)) for hundredths in range(5, 100, 5)]
    for threshold, expected in ((0, least), (0.5, 0.5)):
        scheme = scheme_of(f"shingling lookup={lookup} threshold={threshold}")
        whole = scheme.sign(text_of(raw))
        for text in texts:
            part = scheme.sign(text)
            measured = scheme.measure(part, whole)
            assert measured is not None
            agrees = (measured.resemblance or 0) >= expected and (measured.coverage or 0) >= 0.8
            assert (scheme.compare(part, whole) is not None) == agrees
