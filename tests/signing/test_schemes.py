"""The promises of every signature scheme: each test runs with every scheme."""

import dataclasses
import random
from contextlib import closing
from dataclasses import Field, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from crawler_dedup import Config, ConfigError, Deduplicator, IndexMismatch, Verdict
from crawler_dedup.index import opening
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.inspection import transfer
from crawler_dedup.inspection.transfer import Export
from crawler_dedup.signedpage import Signature, SignedPage
from crawler_dedup.signing.lookup import Lookup, lookup_of
from crawler_dedup.signing.schemes import NAMES, Agreement, Scheme, SimHash, ValueScheme, scheme_of
from crawler_dedup.signing.schemes.scheme import PATH
from crawler_dedup.system.extras import has_extra
from tests.support.examples import examples
from tests.support.prose import ODD, SAMPLES, config, html, prose, sentences, text_of
from tests.support.verification import verify

VARIANTS = (
    *NAMES,
    *("shingling lookup=minima", "shingling lookup=mod", "sentences unit=stops", "minhash rows=4", "imatch lexica=0"),
)
TEXTS = st.text(st.sampled_from("tea 茶馆館 dépôt 3é，।हिन्दी。. \n\0\ud800ー"), max_size=80) | st.text()
LONG = {
    "a paragraph of 48 characters ten times": sentences(0, chinese=True)[0][:48] * 10,
    "a line of 24 characters a hundred times": sentences(1, chinese=True)[0][:24] * 100,
    "a word ten thousand times": "lighthouse " * 10_000,
    "ten thousand characters": prose(2, 400, chinese=True),
    "sixteen thousand letters": " ".join(random.Random(1).choices("abcdefghijklmnop", k=16_000)),
    "thirty thousand words": " ".join(map(str, range(30_000))),
}


@pytest.fixture(scope="module", params=VARIANTS)
def spec(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def scheme(spec: str) -> Scheme:
    return scheme_of(spec)


class Signatures(dict[str, Signature]):
    """By the name of the text; too long for a report."""

    __repr__ = object.__repr__


@pytest.fixture(scope="module")
def signatures(scheme: Scheme) -> Signatures:
    """Return the signatures of all texts, ordinary and odd."""
    return Signatures((name, scheme.sign(text_of(raw))) for name, raw in {**SAMPLES, **ODD}.items())


def page_of(signature: Signature, name: str = "page") -> SignedPage:
    return SignedPage(key=name, url=f"http://{name}/", scope="", signature=signature.number, value=signature.value)


def agrees(scheme: Scheme, new: Signature, kept: Signature) -> bool:
    """Return whether the scheme alone decides that they agree."""
    agreement = scheme.compare(new, kept)
    if isinstance(scheme, SimHash):
        assert agreement is not None
        return agreement.distance is not None and agreement.distance <= scheme.max_distance
    return agreement is not None


def expect_sound(agreement: Agreement | None) -> None:
    """Every share lies between 0 and 1."""
    shares = () if agreement is None else (agreement.resemblance, agreement.coverage)
    assert all(share is None or 0 <= share <= 1 for share in shares), agreement


def expect_keys(scheme: Scheme, signature: Signature) -> None:
    """Keys and probes are distinct numbers of 64 bits."""
    for numbers in (scheme.keys(signature), scheme.probes(signature), [signature.number]):
        assert 0 < len(numbers) == len(set(numbers))
        assert all(isinstance(number, int) and 0 <= number < 1 << 64 for number in numbers)


# Signatures and keys


@settings(max_examples=examples(60))
@given(raw=TEXTS, other_text=TEXTS)
def test_an_equal_text_agrees_and_is_found_and_no_text_is_an_error(scheme: Scheme, raw: str, other_text: str) -> None:
    first, second = (page_of(scheme.sign(text_of(raw)), name) for name in ("one", "other"))
    assert first.signed == second.signed
    assert agrees(scheme, first.signed, second.signed)
    assert Lookup(scheme).finds(first, second)
    kept = scheme.sign(text_of(other_text))
    expect_sound(scheme.compare(first.signed, kept))
    filed = np.array([*scheme.keys(kept), first.signature, kept.number, kept.number], dtype=np.uint64)
    assert set(scheme.near(first.signed, filed)) <= set(filed.tolist())
    expect_keys(scheme, kept)


def test_an_equal_page_is_found_whatever_its_text_is(scheme: Scheme, signatures: Signatures) -> None:
    long = {name: scheme.sign(text_of(raw)) for name, raw in LONG.items()}
    for name, signature in {**signatures, **long}.items():
        expect_keys(scheme, signature)
        assert Lookup(scheme).finds(page_of(signature), page_of(signature)), name
        assert agrees(scheme, signature, signature), name


def test_texts_with_nothing_in_common_do_not_agree(scheme: Scheme, signatures: Signatures) -> None:
    assert len({signatures[name] for name in SAMPLES}) == len(SAMPLES)
    for sample in SAMPLES:
        for name, other in signatures.items():
            for new, kept in ((signatures[sample], other), (other, signatures[sample])):
                expect_sound(scheme.compare(new, kept))
                assert agrees(scheme, new, kept) == (name == sample), (name, sample)


# Damaged values


@given(data=st.data())
def test_a_damaged_value_agrees_with_no_other_text(scheme: Scheme, signatures: Signatures, data: st.DataObject) -> None:
    """It is cut off, filled up with one byte, changed, or anything."""
    name, other_name = data.draw(st.permutations(sorted(SAMPLES)))[:2]
    sound = signatures[name]
    at, filling = data.draw(st.integers(0, len(sound.value))), data.draw(st.binary(min_size=1, max_size=9))
    rest = sound.value[at + len(filling) :]
    filled = filling[:1] * (len(sound.value) - at)
    damages = [sound.value[:at], rest, sound.value[:at] + filled, sound.value[:at] + filling + rest]
    broken = Signature(sound.number, data.draw(st.sampled_from(damages)))
    anything = Signature(data.draw(st.integers(0, 2**64 - 1)), data.draw(st.binary(max_size=3_000)))
    for damage in (broken, anything):
        assert isinstance(scheme.keys(damage), list | tuple)
        assert isinstance(scheme.probes(damage), list | tuple)
        for new, kept in ((damage, sound), (sound, damage), (damage, damage)):
            expect_sound(scheme.compare(new, kept))
    for damage in (broken,) if isinstance(scheme, SimHash) else (broken, anything):  # any number may be a simhash
        assert not agrees(scheme, damage, signatures[other_name])
        assert not agrees(scheme, signatures[other_name], damage)


def test_a_forged_value_that_is_cut_off_agrees_with_no_text() -> None:
    for name in ["shingling", "checksums", "imatch", "ddw", "pinyin"]:
        scheme = scheme_of(name)
        sound = scheme.sign(text_of(SAMPLES["tea-house"]))
        forged = Signature(xxh3_64_intdigest(sound.value[:12]), sound.value[:12])
        assert scheme.compare(forged, sound) is scheme.compare(sound, forged) is None


# Pages in an index: tests/index tests the rest with simhash only


def sign(opened: Deduplicator, name: str, text: str) -> SignedPage:
    return opened.sign(f"http://{name}", html(text, name), encoding="utf-8")


def test_an_index_and_its_export_find_what_is_kept_until_it_is_removed(
    tmp_path: Path, spec: str, scheme: Scheme
) -> None:
    lookup = Lookup(scheme)
    with Deduplicator.open(tmp_path / "index", config(spec)) as opened:
        kept = [sign(opened, f"kept/{name}", text) for name, text in SAMPLES.items()]
        assert {decision.verdict for decision in opened.decide(kept)} == {Verdict.NEW}
    with closing(opening.open_index(tmp_path / "index")) as pages:
        assert transfer.export_index(pages, tmp_path / "export", lambda _: None) == len(SAMPLES)
    exported = Export(tmp_path / "export")
    transfer.import_index(exported, tmp_path / "new", lookup_of, lambda _: None, lambda _: None)
    for directory in (tmp_path / "index", tmp_path / "new"):
        with Deduplicator.open(directory, config(spec)) as opened:
            copies = [sign(opened, f"new/{name}", text) for name, text in SAMPLES.items()]
            for page, decision in zip(kept, opened.decide(copies), strict=True):
                assert (decision.verdict, decision.duplicate_of) == (Verdict.DUPLICATE, page.url)
                assert decision.match is not None
                shares = decision.match.resemblance, decision.match.coverage
                assert all(share is None or share > 0.99 for share in shares)
            (decision,) = opened.decide([sign(opened, "kept/9", prose(9))])
            assert decision.verdict is Verdict.NEW
            with closing(DirectoryIndex.attach(directory, readonly=True)) as pages:
                assert verify(pages, lookup) == []
                assert pages.forget(lambda record: "tea" in record.page.url, lookup) == 1
                assert verify(pages, lookup) == []
                assert pages.forget(lambda record: True, lookup) == len(SAMPLES)
                assert verify(pages, lookup) == []


def test_only_simhash_reads_all_pages_of_a_frequent_key(scheme: Scheme) -> None:
    limit = Lookup(scheme).bucket_limit(page_of(scheme.sign(text_of(SAMPLES["tea-house"]))))
    assert limit is None if isinstance(scheme, SimHash) else limit is not None and 0 < limit <= 4_000


# Small and large differences


def test_another_word_makes_another_page_unless_signatures_alone_decide(tmp_path: Path, spec: str) -> None:
    words = prose(0).split()
    words[150] = prose(38).split()[0]
    for compare in ("words", "signatures"):
        with Deduplicator.open(tmp_path / compare, replace(config(spec), compare=compare)) as opened:
            kept, new = (sign(opened, name, text) for name, text in (("kept", prose(0)), ("new", " ".join(words))))
            is_same = opened.compare(new, kept) is not None
        assert is_same is (compare == "signatures" and spec not in ("exact", "imatch lexica=0"))


# Excerpts


def excerpt(text: str, hundredths: int, place: int = 0) -> str:
    """Cut an excerpt from the beginning (0), the middle (1) or the end (2)."""
    length = len(text) * hundredths // 100
    start = (len(text) - length) * place // 2
    return text[start : start + length]


FINDING = {  # from which length on they find every excerpt of a long text
    "shingling lookup=minima": 50,
    "shingling lookup=mod": 20,
    "winnowing resemblance=0": 10,
    "winnowing": 70,
}


def test_excerpts_of_sufficient_length_are_found() -> None:
    for name, chinese in product(FINDING, [False, True]):
        scheme = scheme_of(name)
        for seed in range(3):
            raw = prose(seed, 160, chinese=chinese)
            whole = scheme.sign(text_of(raw))
            for hundredths in range(FINDING[name], 100, 10):
                part = scheme.sign(text_of(excerpt(raw, hundredths, seed)))
                assert scheme.finds(part, whole), (seed, hundredths)
                assert scheme.compare(part, whole) is not None, (seed, hundredths)
                assert scheme.compare(whole, part) is None or hundredths > 75, (seed, hundredths)


@pytest.mark.parametrize(("lookup", "least"), [("supershingles", 0.7), ("minima", 0.3), ("mod", 0.0)])
def test_the_least_resemblance_follows_from_the_lookup_unless_it_is_given(lookup: str, least: float) -> None:
    raw = prose(2, 200)
    for threshold, expected in ((0, least), (0.5, 0.5)):
        scheme = scheme_of(f"shingling lookup={lookup} threshold={threshold}")
        whole = scheme.sign(text_of(raw))
        for hundredths in range(5, 100, 5):
            part = scheme.sign(text_of(excerpt(raw, hundredths)))
            measured = scheme.measure(part, whole)
            assert measured is not None
            agrees = (measured.resemblance or 0) >= expected and (measured.coverage or 0) >= 0.8
            assert (scheme.compare(part, whole) is not None) == agrees


# Names, options, headers


def options_of(name: str) -> dict[str, Field[Any]]:
    options = [field for field in dataclasses.fields(scheme_of(name)) if "allowed" in field.metadata]
    # tests/signing/test_lexicon.py has the others
    return {field.name: field for field in options if field.metadata["allowed"] != PATH}


OPTIONS = [(name, option) for name in NAMES for option in options_of(name)]
STEMMED_LEXICON = [("imatch", "stem"), ("ddw", "stem")]
"""Options with which all words of the general lexicon are stemmed, which takes a second."""


def edges(field: Field[Any]) -> list[Any]:
    """Return the least and the greatest allowed value of an option, or some of its values if they are words."""
    allowed = field.metadata["allowed"]
    kind: Any = type(field.default)
    if field.name == "stem":
        return ["no", "yiddish"] if has_extra("stem") else ["no"]
    return [kind(word) for word in (allowed.split(" to ") if " to " in allowed else allowed.split("|"))]


_WITH = {("pinyin", "classes", 26): " largest=3", ("pinyin", "largest", 1): " classes=20"}
"""The second option that a value requires."""
NEAR = Config(max_distance=3)
"""What every number of tables takes."""


def test_a_spec_makes_the_scheme_that_it_describes(scheme: Scheme) -> None:
    assert scheme_of(scheme.spec).spec == scheme.spec
    assert scheme.spec.split()[0] == scheme.name
    for word in scheme.fixed.split():  # can be given, but not changed
        assert scheme_of(f"{scheme.name} {word}") == scheme_of(scheme.name)
        with pytest.raises(ConfigError, match="has no option"):
            scheme_of(f"{scheme.name} {word}0")


@pytest.mark.parametrize(
    ("name", "option"),
    [pytest.param(*pair, marks=[pytest.mark.slow] if pair in STEMMED_LEXICON else []) for pair in OPTIONS],
)
def test_signatures_and_keys_depend_on_the_options_in_the_spec_only(name: str, option: str) -> None:
    field, default = options_of(name)[option], scheme_of(name)
    for value in edges(field):
        chosen = scheme_of(f"{name} {option}={value}{_WITH.get((name, option, value), '')}", NEAR)
        assert getattr(chosen, option) == value
        is_default_of_later = field.metadata["added_later"] and value == field.default
        in_spec = field.metadata["filed"] and not is_default_of_later
        assert (f" {option}={getattr(chosen, option)}" in chosen.spec) == in_spec
        made_again = scheme_of(chosen.spec, NEAR)
        assert made_again.spec == chosen.spec
        for raw in (SAMPLES["both"], SAMPLES["short"]):
            page = page_of(chosen.sign(text_of(raw)))
            assert agrees(chosen, page.signed, page.signed)
            assert Lookup(chosen).finds(page, page)
            for other in (made_again, default)[: 1 if field.metadata["filed"] else 2]:
                assert other.sign(text_of(raw)) == page.signed
                assert list(other.keys(page.signed)) == list(chosen.keys(page.signed))


@pytest.mark.parametrize(
    ("spec", "chosen", "named"),
    [
        ("simhash", "simhash weight=tf", ("weight=tf^0.75", "weight=tf'")),
        ("exact", "sentences", ("exact hash=xxh3_128", "sentences")),
        ("shingling", "shingling coverage=0.5", ()),
    ],
)
def test_an_index_made_with_another_scheme_or_filed_option_is_refused_and_both_named(
    tmp_path: Path, spec: str, chosen: str, named: tuple[str, ...]
) -> None:
    Deduplicator.open(tmp_path, config(spec)).close()
    if not named:
        Deduplicator.open(tmp_path, config(chosen)).close()
        return
    with pytest.raises(IndexMismatch) as refused:
        Deduplicator.open(tmp_path, config(chosen))
    assert refused.value.differences == {"scheme": (scheme_of(spec).spec, scheme_of(chosen).spec)}
    assert all(word in str(refused.value) for word in named)


def test_a_value_that_an_option_does_not_allow_is_refused_and_the_option_named() -> None:
    for name, option in OPTIONS:
        field = options_of(name)[option]
        least, greatest = edges(field)[0], edges(field)[-1]
        outside = [f"{least - 1:g}", f"{greatest + 1:g}"] if " to " in field.metadata["allowed"] else []
        for value in [*outside, "many", "nan", "1e999", "0x10"]:
            with pytest.raises(ConfigError) as refused:
                scheme_of(f"{name} {option}={value}")
            message = str(refused.value)
            assert message.startswith(f"{option}={value} ")
            assert f"the scheme {name} takes {option} = {field.metadata['allowed']}." in message


SPECS_WITH_ERRORS = {
    "minhash depth=3": f"The scheme minhash has no option depth=3; it has {', '.join(options_of('minhash'))}.",
    "pinyin loaded_lexicon=x": "The scheme pinyin has no option loaded_lexicon=x; it has lexicon, ",
    "minhash name=y": "The scheme minhash has no option name=y",
    **{
        f"minhash {word}": f"{word!r} is not an option; write option=value"
        for word in ("rows", "threshold:1", "rows=", "=")
    },
    "minhash rows=4 rows=4": "rows is given twice",
    **{name: f"There is no scheme {name!r}; there are {', '.join(NAMES)}" for name in ("simhush", "rows=4", "a.b")},
}


@pytest.mark.parametrize("spec", SPECS_WITH_ERRORS, scope="function")
def test_a_wrong_spec_is_refused_and_what_is_available_named_and_no_index_is_made(tmp_path: Path, spec: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Deduplicator.open(tmp_path / "index", config(spec))
    assert SPECS_WITH_ERRORS[spec] in str(refused.value)
    assert not (tmp_path / "index").exists()


# Schemes of other packages (tests/signing/test_own_scheme.py)


class EntryPoint:
    def __init__(self, name: str, loaded: object) -> None:
        self.name = name
        self._loaded = loaded

    def load(self) -> object:
        return self._loaded


def test_an_entry_point_that_is_no_scheme_is_refused_and_none_replaces_another(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine(SimHash):
        name = "mine"

    class Unfinished(ValueScheme):
        name = "unfinished"

    classes = {"mine": Mine, "wrong": Config, "maker": Mine(), "yours": Mine, "exact": Mine, "unfinished": Unfinished}
    points = [EntryPoint(*entry_point_arguments) for entry_point_arguments in classes.items()]
    monkeypatch.setattr("crawler_dedup.signing.schemes.entry_points", lambda group: points)
    assert isinstance(scheme_of("mine"), Mine)
    assert scheme_of("exact").name == "exact"
    for name in ("wrong", "maker", "yours"):
        with pytest.raises(ConfigError, match=rf"'{name}' must be a subclass of crawler_dedup\.Scheme"):
            scheme_of(name)
    with pytest.raises(ConfigError, match=r"'unfinished' cannot be used: .*abstract"):
        scheme_of("unfinished")
    with pytest.raises(ConfigError, match=r"There is no scheme 'other'; there are .*, mine, wrong"):
        scheme_of("other")
