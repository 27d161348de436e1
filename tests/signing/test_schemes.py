"""The promises of every signature scheme: each test runs with every scheme."""

from __future__ import annotations

import dataclasses
import random
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import Field, dataclass
from pathlib import Path
from typing import Any

import lmdb
import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup import Config, ConfigError, Decision, Deduplicator, IndexMismatch, SignedPage, Verdict
from crawler_dedup.decision import BEING_HANDLED
from crawler_dedup.index import maintenance
from crawler_dedup.index.export import Export
from crawler_dedup.index.layout import CHUNK_BYTES
from crawler_dedup.index.lmdb.buckets import Tally
from crawler_dedup.index.lmdb.catalogue import Catalogue, PagesInTransaction
from crawler_dedup.index.lmdb.store import Store
from crawler_dedup.index.records import hash_scope
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
def workers() -> Iterator[tuple[Elsewhere, Elsewhere]]:
    """Yield two processes, in which sets and dictionaries of strings have other orders."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONHASHSEED", "1")
        first_worker = Elsewhere()
        patch.setenv("PYTHONHASHSEED", "2")
        second_worker = Elsewhere()
    with first_worker, second_worker:
        yield first_worker, second_worker


def check(
    deduplicator: Deduplicator,
    url: str,
    text: str,
    *,
    key: str | None = None,
    scope: str | None = None,
    frame: str = "",
) -> Decision:
    return deduplicator.check(url, html(text, frame or url), encoding="utf-8", key=key, scope=scope)


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


# Signatures


def test_equal_texts_have_equal_signatures(scheme: Scheme, signatures: Signatures) -> None:
    for name, raw in {**SAMPLES, **ODD}.items():
        assert scheme.sign(text_of(raw)) == signatures[name], name


def test_a_text_has_the_same_signature_in_every_process(spec: str, workers: tuple[Elsewhere, Elsewhere]) -> None:
    workers[0].send("signed", spec)
    expected = signed(spec)
    assert len(expected) == len(SAMPLES) + len(ODD)
    assert workers[0].answer() == expected


def test_a_signature_is_a_number_of_64_bits_and_bytes(signatures: Signatures) -> None:
    for signature in signatures.values():
        assert isinstance(signature.number, int)
        assert 0 <= signature.number < 1 << 64
        assert isinstance(signature.value, bytes)


def test_texts_with_nothing_in_common_have_different_signatures(signatures: Signatures) -> None:
    assert len({signatures[name] for name in SAMPLES}) == len(SAMPLES)


def test_case_punctuation_and_width_do_not_matter(scheme: Scheme) -> None:
    plain, written = "tram depot tea 茶馆 opens again", "\tTRAM—depot ｔｅａ《茶館》 opens, again"
    assert scheme.sign(text_of(plain)) == scheme.sign(text_of(written))


# Keys


@given(raw=TEXTS)
def test_keys_and_probes_are_distinct_numbers_of_64_bits(scheme: Scheme, raw: str) -> None:
    signature = scheme.sign(text_of(raw))
    for numbers in (scheme.keys(signature), scheme.probes(signature)):
        assert 0 < len(numbers) == len(set(numbers))
        assert all(isinstance(number, int) and 0 <= number < 1 << 64 for number in numbers)


def test_keys_and_probes_of_samples_are_distinct_too(scheme: Scheme, signatures: Signatures) -> None:
    for signature in signatures.values():
        for numbers in (scheme.keys(signature), scheme.probes(signature)):
            assert 0 < len(numbers) == len(set(numbers))


@given(raw=TEXTS)
def test_an_equal_text_agrees_and_is_found(scheme: Scheme, raw: str) -> None:
    first, second = (page_of(scheme.sign(text_of(raw)), name) for name in ("one", "other"))
    assert first.signed == second.signed
    assert agrees(scheme, first.signed, second.signed)
    assert Lookup(scheme).finds(first, second)


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
    assert [name for name, page in pages.items() if not Lookup(scheme).finds(page, page)] == []
    assert [name for name, page in pages.items() if not agrees(scheme, page.signed, page.signed)] == []


def test_texts_with_nothing_in_common_do_not_agree(scheme: Scheme, signatures: Signatures) -> None:
    for name in SAMPLES:
        for sample in SAMPLES:
            assert agrees(scheme, signatures[name], signatures[sample]) == (name == sample), (name, sample)


def test_agreement_is_measured_in_shares(scheme: Scheme, signatures: Signatures) -> None:
    for new in signatures.values():
        for kept in signatures.values():
            agreement = scheme.compare(new, kept)
            shares = () if agreement is None else (agreement.resemblance, agreement.coverage)
            assert all(share is None or 0 <= share <= 1 for share in shares), agreement


def test_odd_texts_agree_with_no_sample(scheme: Scheme, signatures: Signatures) -> None:
    for name in ODD:
        for sample in SAMPLES:
            assert not agrees(scheme, signatures[name], signatures[sample]), (name, sample)
            assert not agrees(scheme, signatures[sample], signatures[name]), (name, sample)


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
        agreement = scheme.compare(new, kept)
        assert agreement is None or all(
            share is None or 0 <= share <= 1 for share in (agreement.resemblance, agreement.coverage)
        )
    assert not agrees(scheme, broken, signatures[other_name])
    assert not agrees(scheme, signatures[other_name], broken)


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


@pytest.mark.parametrize("at", [0, 8, 0.25, 0.5, 0.75])
def test_a_value_of_zeros_agrees_with_no_other_text(scheme: Scheme, signatures: Signatures, at: float) -> None:
    for name in SAMPLES:
        value = signatures[name].value
        start = int(at if at >= 1 else at * len(value))
        zeroed = Signature(signatures[name].number, value[:start].ljust(len(value), b"\0"))
        for other_name in set(SAMPLES) - {name}:
            assert not agrees(scheme, zeroed, signatures[other_name]), (name, other_name)
            assert not agrees(scheme, signatures[other_name], zeroed), (name, other_name)


def test_a_damaged_record_neither_stops_a_crawl_nor_stands_for_other_pages(
    opened: Deduplicator, store: Store, scheme: Scheme
) -> None:
    assert check(opened, "http://kept/", prose(0)).verdict is Verdict.NEW
    (page,) = (record.page for block in store.records(9) for record in block)
    for value in (page.value[:3], page.value[: len(page.value) // 2], bytes(len(page.value)), b"\xff" * 333):
        broken = msgspec.structs.replace(page, value=value)
        assert opened.compare(sign(opened, prose(1)), broken) is None
        assert isinstance(Lookup(scheme).keys(broken), list | tuple)


# The life of pages


def test_an_equal_page_at_another_address_is_a_duplicate_and_another_page_is_new(opened: Deduplicator) -> None:
    for number, text in enumerate(SAMPLES.values()):
        assert check(opened, f"http://kept/{number}", text).verdict is Verdict.NEW
    for number, text in enumerate(SAMPLES.values()):
        decision = check(opened, f"http://new/{number}", text)
        assert (decision.verdict, decision.duplicate_of) == (Verdict.DUPLICATE, f"http://kept/{number}")
        assert decision.match is not None
        assert decision.match.resemblance > 0.99
        assert decision.match.coverage > 0.99
    assert check(opened, "http://new/", prose(9)).verdict is Verdict.NEW
    assert len(opened) == len(SAMPLES) + 1


def test_pages_of_one_batch_are_compared_with_each_other(opened: Deduplicator) -> None:
    pages = [sign(opened, text, name) for text in (prose(0), mixed(1)) for name in (f"a{text[:3]}", f"b{text[:3]}")]
    verdicts = [str(decision.verdict) for decision in opened.decide(pages)]
    assert verdicts == ["new", "duplicate", "new", "duplicate"]


def test_the_next_run_finds_what_a_run_keeps(index: Path, spec: str) -> None:
    texts = {name: SAMPLES[name] for name in ("English", "tea-house", "both")}
    for name, text in texts.items():
        with Deduplicator.open(index, config(spec)) as deduplicator:
            assert check(deduplicator, f"http://kept/{name}", text).verdict is Verdict.NEW
    with Deduplicator.open(index, config(spec)) as deduplicator:
        for name, text in texts.items():
            assert check(deduplicator, f"http://new/{name}", text).duplicate_of == f"http://kept/{name}"


def test_if_two_processes_offer_a_text_at_once_one_page_is_kept(
    index: Path, spec: str, workers: tuple[Elsewhere, Elsewhere]
) -> None:
    seeds = list(range(36))
    for name, worker, order in zip("ab", workers, (seeds, seeds[::-1]), strict=True):
        worker.send("offer", spec, str(index), name, order)
    answered = Counter(line for worker in workers for line in worker.answer())
    assert answered == Counter(f"{verdict} {seed}" for seed in seeds for verdict in ("new", "duplicate"))
    pages = Store.attach(index, readonly=True)
    try:
        assert len(pages) == len(seeds)
        assert verify(pages, lookup_of(pages.header.spec)) == []
    finally:
        pages.close()


def test_a_claimed_page_stands_once_it_is_settled(opened: Deduplicator) -> None:
    first, second, third = (sign(opened, mixed(1), name) for name in ("first", "second", "third"))
    (claimed,) = opened.submit([first], claim=True).result()
    assert (claimed.verdict, bool(claimed.claim)) == (Verdict.NEW, True)
    (waiting,) = opened.submit([second], claim=True).result()
    assert (waiting.verdict, waiting.reason, waiting.claim) == (Verdict.UNCHECKED, BEING_HANDLED, 0)
    assert waiting.duplicate_of == "http://first/"
    assert opened.settle(claimed)
    assert [decision.verdict for decision in opened.decide([second, third])] == [Verdict.DUPLICATE, Verdict.DUPLICATE]
    assert len(opened) == 1


def test_a_released_page_is_no_representative(opened: Deduplicator, store: Store, scheme: Scheme) -> None:
    first, second = (sign(opened, mixed(1), name) for name in ("first", "second"))
    (claimed,) = opened.submit([first], claim=True).result()
    assert opened.release(claimed)
    assert not opened.release(claimed)
    assert is_empty(store)
    (decision,) = opened.submit([second], claim=True).result()
    assert (decision.verdict, bool(decision.claim)) == (Verdict.NEW, True)
    assert verify(store, Lookup(scheme)) == []


def test_pages_of_other_scopes_are_not_compared(opened: Deduplicator) -> None:
    assert check(opened, "http://a/", prose(0), scope="one").verdict is Verdict.NEW
    assert check(opened, "http://b/", prose(0), scope="other").verdict is Verdict.NEW
    assert check(opened, "http://c/", prose(0), scope="one").duplicate_of == "http://a/"
    assert check(opened, "http://d/", prose(0), scope="other").duplicate_of == "http://b/"


def test_a_page_visited_again_is_unchanged_or_changed(opened: Deduplicator, store: Store, scheme: Scheme) -> None:
    assert check(opened, "http://a/", prose(0)).verdict is Verdict.NEW
    decision = check(opened, "http://a/", prose(0), frame="again")
    assert (decision.verdict, decision.match is not None) == (Verdict.UNCHANGED, True)
    assert check(opened, "http://a/?sid=1", prose(0), key="http://a/").verdict is Verdict.UNCHANGED
    assert check(opened, "http://a/", prose(1)).verdict is Verdict.CHANGED
    assert check(opened, "http://b/", prose(1)).duplicate_of == "http://a/"
    assert check(opened, "http://c/", prose(0)).verdict is Verdict.NEW
    assert verify(store, Lookup(scheme)) == []


# Small differences


def test_a_page_with_another_word_is_a_duplicate_unless_all_words_must_agree(opened: Deduplicator, spec: str) -> None:
    for seed in range(4):
        words = prose(seed).split()
        words[150] = prose(38).split()[seed]
        assert check(opened, f"http://kept/{seed}", prose(seed)).verdict is Verdict.NEW
        decision = check(opened, f"http://new/{seed}", " ".join(words))
        assert decision.verdict is (Verdict.NEW if spec in _OF_ALL_WORDS else Verdict.DUPLICATE)


# Longer texts

_WHOLE = 40
_MEASURES = {"shingling", "minhash", "pinyin"}
"""Schemes that estimate how much of the new text stands in the kept one. (sentences knows that of ten of them; simhash
and checksums leave it to the sketches; imatch and ddw see one text or two.)"""


@pytest.mark.parametrize("chinese", [False, True])
def test_three_quarters_of_a_page_are_covered_by_the_whole_but_not_the_reverse(
    opened: Deduplicator, scheme: Scheme, chinese: bool
) -> None:
    whole, part = (sign(opened, prose(5, count, chinese=chinese)) for count in (_WHOLE, 3 * _WHOLE // 4))
    if scheme.name in _MEASURES:
        assert opened.compare(part, whole) is not None
        assert opened.compare(whole, part) is None
    if scheme.name == "sentences":
        assert opened.compare(part, whole) is not None
    if scheme.name == "exact":
        assert opened.compare(part, whole) is opened.compare(whole, part) is None


@pytest.mark.parametrize("chinese", [False, True])
def test_a_longer_page_is_not_dropped_because_its_excerpt_is_kept(opened: Deduplicator, chinese: bool) -> None:
    dropped = []
    for seed in range(6):
        sentences_of_it = sentences(seed, _WHOLE, chinese=chinese)
        whole = sign(opened, "".join(sentences_of_it))
        for part in (4, 3, 2):
            for at in (0, _WHOLE - _WHOLE // part):
                excerpt = sign(opened, "".join(sentences_of_it[at : at + _WHOLE // part]))
                if opened.compare(whole, excerpt):
                    dropped.append((seed, at, f"1/{part}"))
    assert dropped == []


def test_an_article_with_hundreds_of_comments_is_not_dropped_because_the_article_is_kept(opened: Deduplicator) -> None:
    article = prose(0, 12)
    comments = "\n".join(" ".join(line.split()[:6]) + "." for seed in range(1, 7) for line in sentences(seed, 40))
    assert len(comments) > 5 * len(article)
    assert check(opened, "http://article/", article).verdict is Verdict.NEW
    assert check(opened, "http://comments/", f"{article}\n{comments}").verdict is Verdict.NEW


# The index


def is_empty(store: Store) -> bool:
    catalogue = Catalogue(store.environment)
    with store.environment.read() as txn:
        tallies = [buckets.tally(txn) for buckets in (catalogue.tables, catalogue.numbers)]
        return tallies == [Tally(), Tally()] and not catalogue.records.count(txn)


def keep(opened: Deduplicator) -> None:
    """Keep all samples at addresses of their own."""
    pages = [opened.sign(f"http://kept/{name}", html(text), encoding="utf-8") for name, text in SAMPLES.items()]
    assert {decision.verdict for decision in opened.decide(pages)} == {Verdict.NEW}


def test_every_key_of_a_kept_page_is_filed_and_removed_with_it(
    opened: Deduplicator, store: Store, scheme: Scheme
) -> None:
    keep(opened)
    lookup, catalogue = Lookup(scheme), Catalogue(store.environment)
    assert verify(store, lookup) == []
    with store.environment.read() as txn:
        entries = catalogue.tables.tally(txn).entries
    assert entries == sum(len(lookup.keys(sign(opened, text))) for text in SAMPLES.values())
    assert store.forget(lambda record: "tea" in record.page.url, lookup) == 1
    assert verify(store, lookup) == []
    assert check(opened, "http://new/", SAMPLES["tea-house"]).verdict is Verdict.NEW
    assert store.forget(lambda _: True, lookup) == len(SAMPLES)
    assert is_empty(store)


def test_a_page_that_changes_leaves_no_key_behind(opened: Deduplicator, store: Store, scheme: Scheme) -> None:
    for text in SAMPLES.values():
        assert check(opened, "http://one/", text).verdict in (Verdict.NEW, Verdict.CHANGED)
        assert verify(store, Lookup(scheme)) == []
    assert len(store) == 1


def test_pages_that_expire_leave_no_key_behind(
    index: Path, spec: str, scheme: Scheme, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Deduplicator.open(index, config(spec, expire_days=1)) as opened:
        keep(opened)
        assert opened.tidy() == 0
        monkeypatch.setattr("crawler_dedup.index.backend.wall_clock", lambda: int(time.time()) + 2 * 86_400)
        assert opened.tidy() == len(SAMPLES)
        pages = Store.attach(index, readonly=True)
        try:
            assert verify(pages, Lookup(scheme)) == []
            assert is_empty(pages)
        finally:
            pages.close()
        assert check(opened, "http://new/", SAMPLES["English"]).verdict is Verdict.NEW


def test_an_imported_index_gives_the_same_answers_as_the_exported_one(
    tmp_path: Path, index: Path, spec: str, scheme: Scheme
) -> None:
    texts = {**SAMPLES, "new": prose(9), "part": prose(0, 27), "longer": prose(0, 33)}

    def answers(directory: Path) -> list[Decision]:
        with Deduplicator.open(directory, config(spec)) as opened:
            return opened.decide([sign(opened, text, name) for name, text in texts.items()])

    with Deduplicator.open(index, config(spec)) as opened:
        keep(opened)
    pages = maintenance.open_pages(index)
    assert maintenance.export_index(pages, tmp_path / "export", lambda _: None) == len(SAMPLES)
    pages.close()
    counts = maintenance.import_index(
        Export(tmp_path / "export"), tmp_path / "new", lookup_of, lambda _: None, lambda _: None
    )
    assert counts == (len(SAMPLES), len(SAMPLES))
    pages = maintenance.open_pages(tmp_path / "new")
    assert verify(pages, Lookup(scheme)) == []
    pages.close()
    shutil.copytree(index, tmp_path / "copy")
    assert answers(tmp_path / "new") == answers(tmp_path / "copy")


class Counting:
    """A transaction that counts what is read."""

    def __init__(self, txn: lmdb.Transaction) -> None:
        self._txn = txn
        self.read = 0

    def get(self, *name: Any) -> Any:
        self.read += 1
        return self._txn.get(*name)

    @contextmanager
    def cursor(self, **database: Any) -> Iterator[CountingCursor]:
        with self._txn.cursor(**database) as cursor:
            yield CountingCursor(self, cursor)


@dataclass(frozen=True)
class CountingCursor:
    """A cursor whose transaction counts the names that it looks for."""

    counting: Counting
    cursor: lmdb.Cursor

    def getmulti(self, names: Sequence[bytes]) -> Any:
        self.counting.read += len(names)
        return self.cursor.getmulti(names)


def test_a_frequent_key_costs_a_bounded_number_of_reads(opened: Deduplicator, store: Store, scheme: Scheme) -> None:
    page, hot = sign(opened, SAMPLES["tea-house"]), 20_000
    assert opened.decide([page])[0].verdict is Verdict.NEW
    lookup, catalogue = Lookup(scheme), Catalogue(store.environment)
    keys = np.repeat(np.array(lookup.keys(page), dtype=np.uint64), hot)
    values = np.random.default_rng(1).integers(0, 2**64, len(keys), dtype=np.uint64)
    store.environment.write(lambda txn: catalogue.tables.insert_many(txn, hash_scope(page.scope), keys, values))
    limit = lookup.bucket_limit(page)
    with store.environment.read() as txn:
        counting: Any = Counting(txn)
        filed = PagesInTransaction(catalogue, counting, None).read_buckets(page.scope, lookup.probes(page), limit)
    buckets = len(lookup.keys(page))
    if limit is None:
        assert scheme.name == "simhash"  # exact, whatever it costs
        assert len(filed) >= buckets * (hot + 1)
    else:
        assert buckets * limit <= len(filed) < buckets * (limit + CHUNK_BYTES // 8)
        assert counting.read <= (2 + 8 * limit // CHUNK_BYTES) * len(lookup.probes(page))
    decision = check(opened, "http://again/", SAMPLES["tea-house"])
    assert (decision.verdict, decision.duplicate_of) == (Verdict.DUPLICATE, page.url)


# Odd texts


def test_odd_texts_get_a_decision(opened: Deduplicator) -> None:
    for name, text in ODD.items():
        pages = [opened.sign(f"http://{host}/{name}", html(text), encoding="utf-8") for host in "ab"]
        assert all(isinstance(decision, Decision) for decision in opened.decide(pages))


@given(raw=TEXTS, other_text=TEXTS)
def test_no_text_raises_an_error(scheme: Scheme, raw: str, other_text: str) -> None:
    new, kept = scheme.sign(text_of(raw)), scheme.sign(text_of(other_text))
    agreement = scheme.compare(new, kept)
    assert agreement is None or isinstance(agreement, Agreement)
    filed = np.array([*scheme.keys(kept), new.number, kept.number, kept.number], dtype=np.uint64)
    assert set(scheme.near(new, filed)) <= set(filed.tolist())


# Both writings of Chinese


WRITTEN = {article.slug: "\n".join(article.paragraphs) for article in DEMO_TEXTS.chinese}


def folds_back(text: str) -> bool:
    """Return whether no character is folded differently in some words."""
    return split_units(normalise(in_other_writing(text))) == split_units(normalise(text))


_OF_ALL_WORDS = ("exact", "imatch lexica=0")
"""Schemes to which one other word is another text."""


def test_some_traditional_samples_fold_back_into_the_simplified_ones_completely() -> None:
    assert any(map(folds_back, WRITTEN.values()))


def test_a_copy_in_traditional_characters_is_a_duplicate(opened: Deduplicator, spec: str) -> None:
    for slug, text in WRITTEN.items():
        if spec in _OF_ALL_WORDS and not folds_back(text):
            continue
        assert check(opened, f"http://simple/{slug}", text).verdict is Verdict.NEW
        decision = check(opened, f"http://traditional/{slug}", in_other_writing(text))
        assert (decision.verdict, decision.duplicate_of) == (Verdict.DUPLICATE, f"http://simple/{slug}"), slug


# Names, options, headers


def options_of(name: str) -> dict[str, Field[Any]]:
    options = [field for field in dataclasses.fields(scheme_of(name)) if "allowed" in field.metadata]
    return {
        field.name: field for field in options if field.metadata["allowed"] != PATH
    }  # tests/signing/test_lexicon.py


OPTIONS = [(name, option) for name in NAMES for option in options_of(name)]
_FEW = 4


def edges(field: Field[Any]) -> list[Any]:
    """Return the least and the greatest allowed value of an option, or all its values if they are words."""
    allowed = field.metadata["allowed"]
    kind: Any = type(field.default)
    words = allowed.split(" to ") if " to " in allowed else allowed.split("|")
    if field.name == "stem" and not has_extra("stem"):
        words = ["no"]
    return [kind(word) for word in (words if len(words) <= _FEW else (*words[:2], words[-1]))]


_WITH: dict[tuple[str, str, object], str] = {
    ("pinyin", "classes", 26): " largest=3",
    ("pinyin", "largest", 1): " classes=20",
}
NEAR = Config(max_distance=3)
"""What every number of tables takes."""


def spec_with(name: str, option: str, value: object) -> str:
    """Return the spec of a scheme with an option, and with a second option where the value requires it."""
    return f"{name} {option}={value}" + _WITH.get((name, option, value), "")


def other_value(field: Field[Any]) -> Any:
    return next((value for value in edges(field) if value != field.default), field.default)


def test_each_scheme_has_the_expected_number_of_options() -> None:
    """An option that is added must be added here; the tests below find it automatically."""
    assert Counter(name for name, _ in OPTIONS) == {
        "simhash": 5,
        "shingling": 4,
        "minhash": 4,
        "checksums": 5,
        "imatch": 9,
        "ddw": 7,
        "sentences": 4,
        "pinyin": 7,
        "winnowing": 4,
    }


def test_a_spec_makes_the_scheme_that_it_describes(scheme: Scheme) -> None:
    assert scheme_of(scheme.spec).spec == scheme.spec
    assert scheme.spec.split()[0] == scheme.name
    text = text_of(SAMPLES["both"])
    scheme_of_spec = scheme_of(scheme.spec)
    assert scheme_of_spec.sign(text) == scheme.sign(text)
    assert list(scheme_of_spec.keys(scheme.sign(text))) == list(scheme.keys(scheme.sign(text)))


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_a_filed_option_stands_in_the_spec_and_any_other_does_not(name: str, option: str) -> None:
    field = options_of(name)[option]
    for value in edges(field):
        chosen = scheme_of(spec_with(name, option, value), NEAR)
        assert getattr(chosen, option) == value
        is_default_of_later = field.metadata["later"] and value == field.default
        stands = field.metadata["filed"] and not is_default_of_later
        assert (f" {option}={getattr(chosen, option)}" in chosen.spec) == stands
        assert scheme_of(chosen.spec, NEAR).spec == chosen.spec
        text = text_of(SAMPLES["both"])
        assert scheme_of(chosen.spec, NEAR).sign(text) == chosen.sign(text)


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_signatures_and_keys_depend_on_filed_options_only(name: str, option: str) -> None:
    field = options_of(name)[option]
    if field.metadata["filed"]:
        return
    default = scheme_of(name)
    for value in edges(field):
        changed = scheme_of(f"{name} {option}={value}")
        for raw in SAMPLES.values():
            signature = default.sign(text_of(raw))
            assert changed.sign(text_of(raw)) == signature
            assert list(changed.keys(signature)) == list(default.keys(signature))


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_an_equal_text_agrees_and_is_found_with_every_value_of_an_option(name: str, option: str) -> None:
    for value in edges(options_of(name)[option]):
        chosen = scheme_of(spec_with(name, option, value), NEAR)
        pages = {sample: page_of(chosen.sign(text_of(raw))) for sample, raw in SAMPLES.items()}
        assert [sample for sample, page in pages.items() if not agrees(chosen, page.signed, page.signed)] == []
        assert [sample for sample, page in pages.items() if not Lookup(chosen).finds(page, page)] == []


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_an_index_made_with_another_filed_option_is_refused_and_the_option_named(
    tmp_path: Path, name: str, option: str
) -> None:
    field = options_of(name)[option]
    with Deduplicator.open(tmp_path, config(name, max_distance=3)) as opened:
        assert check(opened, "http://a/", SAMPLES["tea-house"]).verdict is Verdict.NEW
    chosen = spec_with(name, option, other_value(field))
    if option == "stem" and not has_extra("stem"):
        pytest.skip("needs snowballstemmer")
    if not field.metadata["filed"]:
        with Deduplicator.open(tmp_path, config(chosen)) as opened:
            assert check(opened, "http://b/", SAMPLES["tea-house"]).duplicate_of == "http://a/"
        return
    with pytest.raises(IndexMismatch) as refused:
        Deduplicator.open(tmp_path, config(chosen, max_distance=3))
    assert set(refused.value.differences) == {"scheme"}
    assert f"index has '{scheme_of(name).spec}'" in str(refused.value)
    for spec in (name, chosen):
        value = getattr(scheme_of(spec, NEAR), option)
        assert f"{option}={value}" in str(refused.value) or (field.metadata["later"] and value == field.default)


def test_an_index_made_with_another_scheme_is_refused_and_the_scheme_named(index: Path, spec: str) -> None:
    Deduplicator.open(index, config(spec)).close()
    for variant in VARIANTS:
        if variant == spec:
            Deduplicator.open(index, config(variant)).close()
            continue
        with pytest.raises(IndexMismatch) as refused:
            Deduplicator.open(index, config(variant))
        assert refused.value.differences["scheme"] == (scheme_of(spec).spec, scheme_of(variant).spec)
        assert repr(scheme_of(spec).spec) in str(refused.value)
        assert repr(scheme_of(variant).spec) in str(refused.value)


def wrong_values(field: Field[Any]) -> list[str]:
    outside = [f"{edges(field)[0] - 1:g}", f"{edges(field)[1] + 1:g}"] if " to " in field.metadata["allowed"] else []
    return [*outside, "many", "nan", "1e999", "0x10"]


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_a_value_that_an_option_does_not_allow_is_refused_and_the_option_named(name: str, option: str) -> None:
    field = options_of(name)[option]
    for value in wrong_values(field):
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


@pytest.mark.parametrize("name", NAMES)
def test_a_fixed_parameter_can_be_given_but_not_changed(name: str) -> None:
    for word in scheme_of(name).fixed.split():
        assert scheme_of(f"{name} {word}") == scheme_of(name)
        with pytest.raises(ConfigError, match="has no option"):
            scheme_of(f"{name} {word}0")


@pytest.mark.parametrize("word", ["fast", "rows", "threshold:1", "rows=", "="])
def test_a_word_without_a_value_is_refused_and_named(spec: str, word: str) -> None:
    with pytest.raises(ConfigError, match=f"'{word}' is no option; write option=value"):
        scheme_of(f"{spec} {word}")


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_an_option_that_is_given_twice_is_refused_and_named(name: str, option: str) -> None:
    value = options_of(name)[option].default
    with pytest.raises(ConfigError, match=f"{option} is given twice"):
        scheme_of(f"{name} {option}={value} {option}={value}")


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
