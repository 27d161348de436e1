"""The options of schemes that compare words: what a text's features are, against a slow reference."""

from dataclasses import replace
from math import isnan
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup.errors import ExtraMissing
from crawler_dedup.signing.features import LANGUAGES, normalise, stem_words, tokenise
from crawler_dedup.signing.lexicon import build, general
from crawler_dedup.signing.schemes import scheme_of
from crawler_dedup.signing.signer import Signer
from crawler_dedup.system.extras import has_extra
from tests.support.prose import BIGRAMS, ODD, SAMPLES, config, html, prose, text_of

FEATURED = ("simhash", "checksums", "imatch", "ddw")
needs_stemmer = pytest.mark.skipif(not has_extra("stem"), reason="needs the extra stem")


def words_of(raw: str) -> list[str]:
    return tokenise(normalise(raw), BIGRAMS)


@needs_stemmer
@pytest.mark.parametrize("name", FEATURED)
def test_inflected_forms_of_a_word_become_one_feature_by_the_rules_of_a_language(name: str) -> None:
    first, second = text_of("connected trams " * 30 + prose(0)), text_of("connection tram " * 30 + prose(0))
    assert scheme_of(name).sign(first) != scheme_of(name).sign(second)
    stemmed = scheme_of(f"{name} stem=english")
    assert stemmed.sign(first) == stemmed.sign(second)


@needs_stemmer
@given(st.lists(st.sampled_from(["this", "having", "running", "茶馆", "ชา", "3rd", "x" * 41, "x" * 40 + "ing"])))
def test_stop_words_unspaced_scripts_and_tokens_without_letters_are_not_stemmed(words: list[str]) -> None:
    stems = stem_words(words, "english")
    assert stems == ["run" if word == "running" else word for word in words]


@needs_stemmer
def test_all_languages_are_available_and_stem_any_text() -> None:
    words = [word for raw in [*SAMPLES.values(), *ODD.values()] for word in {*words_of(raw[:500])}]
    for language in LANGUAGES:
        assert len(stem_words(words, language)) == len(words)


@needs_stemmer
def test_the_general_lexicon_counts_stems_for_a_scheme_that_stems() -> None:
    def rarity(stem: str, word: str) -> float:
        return float(general(stem).rarity(text_of(word).features.hashes)[0])

    (stem,) = stem_words(["telephones"], "english")
    assert isnan(rarity("", stem))
    assert rarity("english", stem) < min(rarity("", word) for word in ("telephone", "telephones"))
    assert isnan(rarity("english", "telephones"))
    assert rarity("english", "the") == rarity("", "the")


@needs_stemmer
def test_the_version_of_the_stemmer_is_recorded_in_the_index() -> None:
    for scheme, is_recorded in (("simhash stem=dutch", True), ("simhash", False)):
        assert ("snowballstemmer" in Signer(config(scheme)).libraries) is is_recorded


def test_stems_without_the_extra_are_refused_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crawler_dedup.system.extras._missing", lambda _: ["snowballstemmer"])
    for name in FEATURED:
        with pytest.raises(
            ExtraMissing, match=rf"'{name}' with stem=german needs .*: pip install .crawler-dedup\[stem\].$"
        ):
            scheme_of(f"{name} stem=german")
        assert scheme_of(f"{name} stem=no") == scheme_of(name)


def test_the_header_names_the_lexicon_only_with_tf_idf() -> None:
    assert set(scheme_of("simhash weight=tf-idf").depends_on) == {"lexicon"}
    for spec in ("simhash", "simhash weight=tf", "checksums phrases=yes"):
        assert not scheme_of(spec).depends_on


def test_a_lexicon_counts_the_features_of_its_scheme(tmp_path: Path) -> None:
    texts = [text_of(f"honey depot number{number}") for number in range(8)]
    scheme = scheme_of("simhash phrases=yes")
    lexicon = build(texts, scheme.features_of)
    pair = replace(texts[0].features, hashes=scheme.features_of(text_of("honey depot")).hashes)
    assert not any(map(isnan, lexicon.rarity(pair.hashes)))
    lexicon.write(tmp_path / "pairs")
    weighed = scheme_of(f"simhash phrases=yes weight=tf-idf lexicon={tmp_path / 'pairs'}")
    assert weighed.sign(texts[0]) == weighed.sign(texts[0])


def test_options_and_the_title_change_the_signature_of_a_page_and_not_its_features() -> None:
    body = html(prose(0)).replace(b"<body>", b"<title>A lighthouse in fog</title><body>")
    pages = [
        Signer(config(scheme)).sign("http://a/", body, encoding="utf-8", key=None, scope="")[0]
        for scheme in ("simhash", "simhash title=10", "simhash phrases=yes", "simhash weight=tf")
    ]
    assert len({page.signed for page in pages}) == 4
    assert len({page.features for page in pages}) == 1
