"""The promises of every signature scheme: each test runs with every scheme."""

from __future__ import annotations

import dataclasses
import random
import time
from collections.abc import Iterator
from dataclasses import Field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from crawler_dedup import Config, ConfigError, Decision, Deduplicator, IndexMismatch, SignedPage, Verdict
from crawler_dedup.index import maintenance
from crawler_dedup.index.export import Export
from crawler_dedup.index.layout import CHUNK_BYTES
from crawler_dedup.index.lmdb.buckets import Tally
from crawler_dedup.index.lmdb.storage import Databases
from crawler_dedup.index.lmdb.store import Store
from crawler_dedup.index.records import hash_scope
from crawler_dedup.index.storage import SIGNATURES
from crawler_dedup.signedpage import PageKind, Signature
from crawler_dedup.signing.features import normalise, split_units
from crawler_dedup.signing.lookup import Lookup, lookup_of
from crawler_dedup.signing.schemes import NAMES, Agreement, Scheme, SimHash, ValueScheme, scheme_of
from crawler_dedup.signing.schemes.scheme import PATH
from crawler_dedup.spiders.demo_site import DEMO_TEXTS
from crawler_dedup.system.extras import has_extra
from tests.support.chinese import in_other_writing
from tests.support.prose import ODD, SAMPLES, Elsewhere, config, html, mixed, prose, sentences, signed, text_of
from tests.support.verification import verify

VARIANTS = (
    *NAMES,
    "shingling lookup=minima",
    "shingling lookup=mod",
    "sentences unit=stops",
    "minhash rows=4",
    "imatch lexica=0",
)
TEXTS = st.text(st.sampled_from("tea 茶馆館 dépôt 3é，।हिन्दी。. \n\0\ud800ー"), max_size=80) | st.text()


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


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return tmp_path / "index"


@pytest.fixture
def opened(index: Path, spec: str) -> Iterator[Deduplicator]:
    with Deduplicator.open(index, config(spec)) as deduplicator:
        yield deduplicator


@pytest.fixture
def store(opened: Deduplicator, index: Path) -> Iterator[Store]:
    """Yield the same index, as maintenance sees it."""
    pages = Store.attach(index, readonly=True)
    yield pages
    pages.close()


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Elsewhere]:
    """Yield a process in which sets and dictionaries of strings have another order."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONHASHSEED", "1")
        worker = Elsewhere()
    with worker:
        yield worker


def check(deduplicator: Deduplicator, url: str, text: str, *, frame: str = "") -> Decision:
    return deduplicator.check(url, html(text, frame or url), encoding="utf-8")


def sign(deduplicator: Deduplicator, text: str, name: str = "page") -> SignedPage:
    page = deduplicator.sign(f"http://{name}/", html(text, name), encoding="utf-8")
    assert page.kind is PageKind.TEXT
    assert not page.unsigned
    return page


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


# Signatures and keys


def test_a_text_has_the_same_signature_in_every_process(spec: str, elsewhere: Elsewhere) -> None:
    elsewhere.send(spec)
    expected = signed(spec)
    assert len(expected) == len(SAMPLES) + len(ODD)
    assert elsewhere.answer() == expected


@given(raw=TEXTS, other_text=TEXTS)
def test_an_equal_text_agrees_and_is_found_and_no_text_raises_an_error(
    scheme: Scheme, raw: str, other_text: str
) -> None:
    first, second = (page_of(scheme.sign(text_of(raw)), name) for name in ("one", "other"))
    assert first.signed == second.signed
    assert agrees(scheme, first.signed, second.signed)
    assert Lookup(scheme).finds(first, second)
    kept = scheme.sign(text_of(other_text))
    expect_sound(scheme.compare(first.signed, kept))
    filed = np.array([*scheme.keys(kept), first.signature, kept.number, kept.number], dtype=np.uint64)
    assert set(scheme.near(first.signed, filed)) <= set(filed.tolist())
    expect_keys(scheme, kept)


def expect_keys(scheme: Scheme, signature: Signature) -> None:
    """Keys and probes are distinct numbers of 64 bits."""
    for numbers in (scheme.keys(signature), scheme.probes(signature), [signature.number]):
        assert 0 < len(numbers) == len(set(numbers))
        assert all(isinstance(number, int) and 0 <= number < 1 << 64 for number in numbers)


LONG = {
    "a paragraph of 48 characters ten times": sentences(0, chinese=True)[0][:48] * 10,
    "a line of 24 characters a hundred times": sentences(1, chinese=True)[0][:24] * 100,
    "a word ten thousand times": "lighthouse " * 10_000,
    "ten thousand characters": prose(2, 400, chinese=True),
    "sixteen thousand letters": " ".join(random.Random(1).choices("abcdefghijklmnop", k=16_000)),
    "thirty thousand words": " ".join(map(str, range(30_000))),
}


def test_an_equal_page_is_found_whatever_its_text_is(scheme: Scheme, signatures: Signatures) -> None:
    long = {name: scheme.sign(text_of(raw)) for name, raw in LONG.items()}
    pages = {name: page_of(signature) for name, signature in {**signatures, **long}.items()}
    for page in pages.values():
        expect_keys(scheme, page.signed)
    assert [name for name, page in pages.items() if not Lookup(scheme).finds(page, page)] == []
    assert [name for name, page in pages.items() if not agrees(scheme, page.signed, page.signed)] == []


def test_texts_with_nothing_in_common_do_not_agree(scheme: Scheme, signatures: Signatures) -> None:
    assert len({signatures[name] for name in SAMPLES}) == len(SAMPLES)
    for sample in SAMPLES:
        for name, other in signatures.items():
            for new, kept in ((signatures[sample], other), (other, signatures[sample])):
                expect_sound(scheme.compare(new, kept))
                assert agrees(scheme, new, kept) == (name == sample), (name, sample)


# Damaged values


def damaged(sound: bytes, data: st.DataObject) -> bytes:
    """Cut off, filled up with one byte, or with changed bytes."""
    at = data.draw(st.integers(0, len(sound)))
    damage = data.draw(st.sampled_from(["cut off", "without its beginning", "filled", "changed"]))
    if damage == "cut off":
        return sound[:at]
    if damage == "without its beginning":
        return sound[at:]
    if damage == "filled":
        return sound[:at] + bytes([data.draw(st.sampled_from([0, 1, 0x80, 0xFF]))]) * (len(sound) - at)
    return sound[:at] + data.draw(st.binary(max_size=9)) + sound[at + 9 :]


@given(data=st.data())
def test_a_damaged_value_agrees_with_no_other_text(scheme: Scheme, signatures: Signatures, data: st.DataObject) -> None:
    name, other_name = data.draw(st.permutations(sorted(SAMPLES)))[:2]
    sound = signatures[name]
    broken = Signature(sound.number, damaged(sound.value, data))
    scheme.keys(broken)
    scheme.probes(broken)
    for new, kept in ((broken, sound), (sound, broken)):
        expect_sound(scheme.compare(new, kept))
    assert not agrees(scheme, broken, signatures[other_name])
    assert not agrees(scheme, signatures[other_name], broken)


@pytest.mark.parametrize("name", ["shingling", "checksums", "imatch", "ddw", "pinyin"])
def test_a_forged_value_that_is_cut_off_agrees_with_no_text(name: str) -> None:
    scheme = scheme_of(name)
    sound = scheme.sign(text_of(SAMPLES["tea-house"]))
    forged = Signature(xxh3_64_intdigest(sound.value[:12]), sound.value[:12])
    assert scheme.compare(forged, sound) is scheme.compare(sound, forged) is None


@given(value=st.binary(max_size=3_000), number=st.integers(0, 2**64 - 1))
def test_arbitrary_bytes_agree_with_no_text(scheme: Scheme, signatures: Signatures, value: bytes, number: int) -> None:
    random_one = Signature(number, value)
    assert isinstance(scheme.keys(random_one), list | tuple)
    assert isinstance(scheme.probes(random_one), list | tuple)
    scheme.compare(random_one, random_one)
    if isinstance(scheme, SimHash):
        return  # its values are numbers, and every one of them may be a text's
    for name in SAMPLES:
        assert scheme.compare(random_one, signatures[name]) is None
        assert scheme.compare(signatures[name], random_one) is None


# Pages in an index: tests/index tests the rest with simhash only


def is_empty(store: Store) -> bool:
    buckets = Databases(store.environment).buckets.values()
    with store.environment.read() as txn:
        return all(bucket.tally(txn) == Tally() for bucket in buckets) and not len(store)


def keep(opened: Deduplicator) -> None:
    """Keep all samples at addresses of their own."""
    pages = [opened.sign(f"http://kept/{name}", html(text), encoding="utf-8") for name, text in SAMPLES.items()]
    assert {decision.verdict for decision in opened.decide(pages)} == {Verdict.NEW}


def expect_duplicates(opened: Deduplicator) -> None:
    """Copies of the samples are duplicates, and another text is new."""
    pages = [opened.sign(f"http://new/{name}", html(text, "new"), encoding="utf-8") for name, text in SAMPLES.items()]
    for name, decision in zip(SAMPLES, opened.decide(pages), strict=True):
        assert (decision.verdict, decision.duplicate_of) == (Verdict.DUPLICATE, f"http://kept/{name}")
        assert decision.match is not None
        assert min(decision.match.resemblance, decision.match.coverage) > 0.99
    assert opened.decide([sign(opened, prose(9))])[0].verdict is Verdict.NEW


def test_the_next_run_and_an_imported_index_find_what_a_run_keeps(tmp_path: Path, spec: str, scheme: Scheme) -> None:
    with Deduplicator.open(tmp_path / "index", config(spec)) as opened:
        keep(opened)
    pages = maintenance.open_pages(tmp_path / "index")
    assert maintenance.export_index(pages, tmp_path / "export", lambda _: None) == len(SAMPLES)
    pages.close()
    exported = Export(tmp_path / "export")
    maintenance.import_index(exported, tmp_path / "new", lookup_of, lambda _: None, lambda _: None)
    for name in ("index", "new"):
        with Deduplicator.open(tmp_path / name, config(spec)) as opened:
            expect_duplicates(opened)
            assert len(opened) == len(SAMPLES) + 1
        pages = maintenance.open_pages(tmp_path / name)
        assert verify(pages, Lookup(scheme)) == []
        pages.close()


def test_a_page_is_claimed_settled_visited_again_and_released(
    opened: Deduplicator, store: Store, scheme: Scheme
) -> None:
    first, second, third = (sign(opened, mixed(1), name) for name in ("first", "second", "third"))
    (claimed,) = opened.submit([first], claim=True).result()
    assert opened.release(claimed)
    assert is_empty(store)
    claimed, waiting = opened.submit([second, first], claim=True).result()
    assert (claimed.verdict, waiting.verdict, waiting.duplicate_of) == (
        Verdict.NEW,
        Verdict.UNCHECKED,
        "http://second/",
    )
    assert opened.settle(claimed)
    decisions = opened.decide(
        [first, third, second, sign(opened, prose(0), "second"), sign(opened, prose(0), "fourth")]
    )
    assert [str(decision.verdict) for decision in decisions] == [
        "duplicate",
        "duplicate",
        "unchanged",
        "changed",
        "duplicate",
    ]
    assert len(opened) == 1
    assert verify(store, Lookup(scheme)) == []


def test_a_damaged_record_neither_stops_a_crawl_nor_stands_for_other_pages(
    opened: Deduplicator, store: Store, scheme: Scheme
) -> None:
    assert check(opened, "http://kept/", prose(0)).verdict is Verdict.NEW
    (page,) = (record.page for block in store.records(9) for record in block)
    for value in (page.value[:3], page.value[: len(page.value) // 2], bytes(len(page.value)), b"\xff" * 333):
        broken = msgspec.structs.replace(page, value=value)
        assert opened.compare(sign(opened, prose(1)), broken) is None
        assert isinstance(Lookup(scheme).keys(broken), list | tuple)


def test_every_key_of_a_kept_page_is_filed_and_removed_with_it(
    index: Path, spec: str, scheme: Scheme, monkeypatch: pytest.MonkeyPatch
) -> None:
    lookup = Lookup(scheme)
    with Deduplicator.open(index, config(spec, expire_days=1)) as opened:
        keep(opened)
        store = Store.attach(index, readonly=True)
        assert verify(store, lookup) == []
        with store.environment.read() as txn:
            entries = Databases(store.environment).buckets[SIGNATURES].tally(txn).entries
        assert entries == sum(len(lookup.keys(sign(opened, text))) for text in SAMPLES.values())
        assert store.forget(lambda record: "tea" in record.page.url, lookup) == 1
        assert verify(store, lookup) == []
        assert opened.tidy() == 0
        monkeypatch.setattr("crawler_dedup.index.backend.wall_clock", lambda: int(time.time()) + 2 * 86_400)
        assert opened.tidy() == len(SAMPLES) - 1
        assert is_empty(store)
        store.close()


def test_the_pages_of_a_frequent_key_are_read_up_to_a_limit(opened: Deduplicator, store: Store, scheme: Scheme) -> None:
    page, hot = sign(opened, SAMPLES["tea-house"]), 20_000
    assert opened.decide([page])[0].verdict is Verdict.NEW
    lookup, tables = Lookup(scheme), Databases(store.environment).buckets[SIGNATURES]
    keys = np.repeat(np.array(lookup.keys(page), dtype=np.uint64), hot)
    values = np.random.default_rng(1).integers(0, 2**64, len(keys), dtype=np.uint64)
    store.environment.write(lambda txn: tables.insert_many(txn, hash_scope(page.scope), keys, values))
    limit = lookup.bucket_limit(page)
    with store._read() as txn:
        filed = txn.read_buckets(page.scope, lookup.probes(page), limit)
    buckets = len(lookup.keys(page))
    if limit is None:
        assert scheme.name == "simhash"  # exact, whatever it costs
        assert len(filed) >= buckets * (hot + 1)
    else:
        assert buckets * limit <= len(filed) < buckets * (limit + CHUNK_BYTES // 8)
    decision = check(opened, "http://again/", SAMPLES["tea-house"])
    assert (decision.verdict, decision.duplicate_of) == (Verdict.DUPLICATE, page.url)


def test_odd_texts_get_a_decision(opened: Deduplicator) -> None:
    for name, text in ODD.items():
        pages = [opened.sign(f"http://{host}/{name}", html(text), encoding="utf-8") for host in "ab"]
        assert all(isinstance(decision, Decision) for decision in opened.decide(pages))


# Small and large differences

_OF_ALL_WORDS = ("exact", "imatch lexica=0")
"""Schemes to which one other word is another text."""


def test_a_page_with_another_word_is_a_duplicate_unless_all_words_must_agree(opened: Deduplicator, spec: str) -> None:
    for seed in range(4):
        words = prose(seed).split()
        words[150] = prose(38).split()[seed]
        assert check(opened, f"http://kept/{seed}", prose(seed)).verdict is Verdict.NEW
        decision = check(opened, f"http://new/{seed}", " ".join(words))
        assert decision.verdict is (Verdict.NEW if spec in _OF_ALL_WORDS else Verdict.DUPLICATE)


_WHOLE = 40
_MEASURES = {"shingling", "minhash", "pinyin", "sentences"}
"""Schemes that estimate how much of the new text stands in the kept one. (simhash and checksums leave it to the sketches;
imatch and ddw see one text or two.)"""


@pytest.mark.parametrize("chinese", [False, True])
def test_an_excerpt_is_covered_by_the_whole_page_but_not_the_reverse(
    opened: Deduplicator, scheme: Scheme, chinese: bool
) -> None:
    whole, part = (sign(opened, prose(5, count, chinese=chinese)) for count in (_WHOLE, 3 * _WHOLE // 4))
    if scheme.name in _MEASURES:
        assert opened.compare(part, whole) is not None
        assert opened.compare(whole, part) is None or scheme.name == "sentences"  # which samples ten of them
    if scheme.name == "exact":
        assert opened.compare(part, whole) is opened.compare(whole, part) is None
    dropped = []
    for seed in range(6):
        sentences_of_it = sentences(seed, _WHOLE, chinese=chinese)
        whole = sign(opened, "".join(sentences_of_it))
        for part_of in (4, 3, 2):
            for at in (0, _WHOLE - _WHOLE // part_of):
                excerpt = sign(opened, "".join(sentences_of_it[at : at + _WHOLE // part_of]))
                if opened.compare(whole, excerpt):
                    dropped.append((seed, at, f"1/{part_of}"))
    assert dropped == []


def test_an_article_with_hundreds_of_comments_is_not_dropped_because_the_article_is_kept(opened: Deduplicator) -> None:
    article = prose(0, 12)
    comments = "\n".join(" ".join(line.split()[:6]) + "." for seed in range(1, 7) for line in sentences(seed, 40))
    assert len(comments) > 5 * len(article)
    assert check(opened, "http://article/", article).verdict is Verdict.NEW
    assert check(opened, "http://comments/", f"{article}\n{comments}").verdict is Verdict.NEW


# Both writings of Chinese


WRITTEN = {article.slug: "\n".join(article.paragraphs) for article in DEMO_TEXTS.chinese}


def folds_back(text: str) -> bool:
    """Return whether no character is folded differently in some words."""
    return split_units(normalise(in_other_writing(text))) == split_units(normalise(text))


def test_a_copy_in_traditional_characters_is_a_duplicate(index: Path, spec: str) -> None:
    assert any(map(folds_back, WRITTEN.values()))
    with Deduplicator.open(index, config(spec)) as opened:
        for slug, text in WRITTEN.items():
            if spec in _OF_ALL_WORDS and not folds_back(text):
                continue
            assert check(opened, f"http://simple/{slug}", text).verdict is Verdict.NEW
            decision = check(opened, f"http://traditional/{slug}", in_other_writing(text))
            assert decision.verdict is Verdict.DUPLICATE, slug


# Names, options, headers


def options_of(name: str) -> dict[str, Field[Any]]:
    options = [field for field in dataclasses.fields(scheme_of(name)) if "allowed" in field.metadata]
    # tests/signing/test_lexicon.py has the others
    return {field.name: field for field in options if field.metadata["allowed"] != PATH}


OPTIONS = [(name, option) for name in NAMES for option in options_of(name)]


def edges(field: Field[Any]) -> list[Any]:
    """Return the least and the greatest allowed value of an option, or some of its values if they are words."""
    allowed = field.metadata["allowed"]
    kind: Any = type(field.default)
    if field.name == "stem":
        return ["no", "yiddish"] if has_extra("stem") else ["no"]
    return [kind(word) for word in (allowed.split(" to ") if " to " in allowed else allowed.split("|"))]


_WITH: dict[tuple[str, str, object], str] = {
    ("pinyin", "classes", 26): " largest=3",
    ("pinyin", "largest", 1): " classes=20",
}
NEAR = Config(max_distance=3)
"""What every number of tables takes."""


def spec_with(name: str, option: str, value: object) -> str:
    """Return the spec of a scheme with an option, and with a second option where the value requires it."""
    return f"{name} {option}={value}" + _WITH.get((name, option, value), "")


def test_a_spec_makes_the_scheme_that_it_describes(scheme: Scheme) -> None:
    assert scheme_of(scheme.spec).spec == scheme.spec
    assert scheme.spec.split()[0] == scheme.name
    for word in scheme.fixed.split():  # can be given, but not changed
        assert scheme_of(f"{scheme.name} {word}") == scheme_of(scheme.name)
        with pytest.raises(ConfigError, match="has no option"):
            scheme_of(f"{scheme.name} {word}0")


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_signatures_and_keys_depend_on_the_options_in_the_spec_only(name: str, option: str) -> None:
    field, default = options_of(name)[option], scheme_of(name)
    for value in edges(field):
        chosen = scheme_of(spec_with(name, option, value), NEAR)
        assert getattr(chosen, option) == value
        is_default_of_later = field.metadata["later"] and value == field.default
        in_spec = field.metadata["filed"] and not is_default_of_later
        assert (f" {option}={getattr(chosen, option)}" in chosen.spec) == in_spec
        made_again = scheme_of(chosen.spec, NEAR)
        assert made_again.spec == chosen.spec
        for raw in (SAMPLES["both"], SAMPLES["tea-house"], SAMPLES["short"]):
            page = page_of(chosen.sign(text_of(raw)))
            assert agrees(chosen, page.signed, page.signed)
            assert Lookup(chosen).finds(page, page)
            for other in (made_again, default)[: 1 if field.metadata["filed"] else 2]:
                assert other.sign(text_of(raw)) == page.signed
                assert list(other.keys(page.signed)) == list(chosen.keys(page.signed))


@pytest.mark.parametrize(
    ("spec", "chosen", "named"),
    [
        ("simhash", "simhash weight=tf", ("weight=tf^0.75", "weight=tf ")),
        ("minhash", "minhash shingle=3", ("shingle=2", "shingle=3")),
        ("imatch", "imatch phrases=yes", ("imatch low=0.2", "phrases=yes")),
        ("exact", "sentences", ("exact hash=xxh3_128", "sentences")),
        ("shingling", "shingling coverage=0.5", ()),
    ],
)
def test_an_index_made_with_another_scheme_or_filed_option_is_refused_and_both_named(
    index: Path, spec: str, chosen: str, named: tuple[str, ...]
) -> None:
    with Deduplicator.open(index, config(spec)) as opened:
        assert check(opened, "http://a/", SAMPLES["tea-house"]).verdict is Verdict.NEW
    if not named:
        with Deduplicator.open(index, config(chosen)) as opened:
            assert check(opened, "http://b/", SAMPLES["tea-house"]).duplicate_of == "http://a/"
        return
    with pytest.raises(IndexMismatch) as refused:
        Deduplicator.open(index, config(chosen))
    assert refused.value.differences == {"scheme": (scheme_of(spec).spec, scheme_of(chosen).spec)}
    assert all(word in str(refused.value) for word in named)


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_a_value_that_an_option_does_not_allow_is_refused_and_the_option_named(name: str, option: str) -> None:
    field = options_of(name)[option]
    least, greatest = edges(field)[0], edges(field)[-1]
    outside = [f"{least - 1:g}", f"{greatest + 1:g}"] if " to " in field.metadata["allowed"] else []
    for value in [*outside, "many", "nan", "1e999", "0x10"]:
        with pytest.raises(ConfigError) as refused:
            scheme_of(f"{name} {option}={value}")
        message = str(refused.value)
        assert message.startswith(f"{option}={value} ")
        assert f"the scheme {name} takes {option} = {field.metadata['allowed']}." in message


@pytest.mark.parametrize("name", NAMES)
def test_an_option_that_a_scheme_does_not_have_is_refused_and_its_options_named(name: str) -> None:
    for chosen in (f"{name} depth=3", f"{name} loaded_lexicon=x", f"{name} name=y"):
        with pytest.raises(ConfigError) as refused:
            scheme_of(chosen)
        assert chosen.split()[1] in str(refused.value)
        assert f"The scheme {name} has no option" in str(refused.value)
        assert all(option in str(refused.value) for option in options_of(name))


@pytest.mark.parametrize("word", ["fast", "rows", "threshold:1", "rows=", "="])
def test_a_word_without_a_value_is_refused_and_named(word: str) -> None:
    with pytest.raises(ConfigError, match=f"'{word}' is no option; write option=value"):
        scheme_of(f"minhash {word}")


def test_an_option_that_is_given_twice_is_refused_and_named() -> None:
    with pytest.raises(ConfigError, match="rows is given twice"):
        scheme_of("minhash rows=4 rows=4")


@pytest.mark.parametrize("name", ["simhush", "", "  ", "SimHash", "rows=4", "crawler_dedup.signing.schemes.exact"])
def test_an_unknown_scheme_is_refused_and_the_known_ones_named(name: str) -> None:
    with pytest.raises(ConfigError) as refused:
        scheme_of(name)
    assert f"There is no scheme {name.strip()!r}" in str(refused.value)
    assert all(name in str(refused.value) for name in NAMES)


def test_no_index_is_made_for_an_unknown_scheme(tmp_path: Path) -> None:
    for chosen in ("simhush", "minhash rows=129", "minhash rows", "minhash depth=1"):
        with pytest.raises(ConfigError):
            Deduplicator.open(tmp_path / "index", config(chosen))
    assert not (tmp_path / "index").exists()


# Schemes of other packages (tests/test_own_scheme.py)


class EntryPoint:
    def __init__(self, name: str, loaded: object) -> None:
        self.name = name
        self._loaded = loaded

    def load(self) -> object:
        return self._loaded


def test_an_entry_point_that_is_not_a_scheme_is_refused_and_none_replaces_a_scheme_of_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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
        with pytest.raises(ConfigError, match=rf"'{name}' is .* no subclass of crawler_dedup\.Scheme"):
            scheme_of(name)
    with pytest.raises(ConfigError, match=r"'unfinished' cannot be used: .*abstract"):
        scheme_of("unfinished")
    with pytest.raises(ConfigError, match=r"There is no scheme 'other'; there are .*, mine, wrong"):
        scheme_of("other")
