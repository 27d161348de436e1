"""A collection is decided as a crawl of its pages would decide them."""

from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

pytest.importorskip("pyarrow", reason="the extra batch is not installed: pip install '.[batch]'")

from crawler_dedup import Config, DedupError, Deduplicator, Export, IndexMismatch, Verdict
from crawler_dedup.batch.candidates import find_candidates
from crawler_dedup.batch.collection import Collection
from crawler_dedup.batch.decide import RememberingMatcher
from crawler_dedup.batch.existing import ExistingPages
from crawler_dedup.batch.find import PROFILES, Report, find_duplicates
from crawler_dedup.batch.learning import LEARNED_PAGES
from crawler_dedup.batch.output import CLUSTERS, KEPT
from crawler_dedup.batch.shard import ENTRY_BYTES, read_rows
from crawler_dedup.index.opening import open_index
from crawler_dedup.index.profiles import FrozenProfiles
from crawler_dedup.inspection.transfer import export_index, import_index
from crawler_dedup.rules.limits import MIN_PAGES
from crawler_dedup.signing.lookup import lookup_of
from crawler_dedup.signing.signer import Signer
from crawler_dedup.system.callbacks import Advance, ignore_progress
from tests.support.collections import (
    CONFIG,
    Page,
    answers,
    crawl_answers,
    decide,
    example_folder,
    find,
    make_pages,
    sign,
    table,
    write_pages,
)
from tests.support.crawling import article
from tests.support.examples import examples
from tests.support.sitepages import story


def search(folder: Path, pages: list[Page], config: Config = CONFIG, **options: Any) -> Report:
    """Sign *pages*, which are in one input, and find the duplicates among them."""
    sign([write_pages(folder / "pages.jsonl", pages)], folder / "signed", config)
    return find(folder / "signed", folder / "decisions", config, **options)


def file_pages(deduplicator: Deduplicator, pages: list[Page]) -> None:
    deduplicator.decide([deduplicator.sign(page.url, page.html.encode(), encoding="utf-8") for page in pages])


PAGES = st.builds(make_pages, st.integers(0, 1 << 32), st.integers(1, 80))
SEEN: Counter[str] = Counter()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pages=PAGES,
    cut=st.integers(0, 60),
    distance=st.sampled_from([3, 7]),
    scheme=st.sampled_from(["simhash", "minhash", "exact"]),
)
def test_pages_are_decided_as_by_a_crawl_with_profiles(
    tmp_path: Path, pages: list[Page], cut: int, distance: int, scheme: str
) -> None:
    config = Config(tokenizer="bigrams", max_distance=distance, scheme=scheme)
    with example_folder(tmp_path) as folder:
        inputs = [write_pages(folder / "a.jsonl", pages[:cut]), write_pages(folder / "b.jsonl", pages[cut:])]
        sign(inputs, folder / "signed", config)
        find(folder / "signed", folder / "out", config)
        decided = answers(folder / "out")
        expected = crawl_answers(folder / "index", folder / "out" / PROFILES, pages, config)
        places = [(str(inputs[number >= cut]), number - cut * (number >= cut)) for number in range(len(pages))]
        assert [decided[place] for place in places] == expected
        assert len(decided) == len(pages)
        SEEN.update(answer.verdict for answer in expected)
        SEEN.update(answer.rule for answer in expected)


def test_the_examples_have_every_verdict() -> None:
    if not SEEN:
        pytest.skip("runs behind the test that makes the examples")
    assert set(map(str, Verdict)) <= set(SEEN)


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seeds=st.tuples(st.integers(0, 1 << 32), st.integers(0, 1 << 32)), size=st.integers(1, 40))
def test_pages_are_decided_against_an_index_as_by_that_index(tmp_path: Path, seeds: tuple[int, int], size: int) -> None:
    with example_folder(tmp_path) as folder:
        with Deduplicator.open(folder / "before", CONFIG) as deduplicator:
            file_pages(deduplicator, make_pages(seeds[0], size))
        with closing(open_index(folder / "before")) as before:
            export_index(before, folder / "before.dedup", ignore_progress)
        pages = make_pages(seeds[1], size)
        search(folder, pages, against=folder / "before.dedup")
        export = Export(folder / "before.dedup")
        import_index(export, folder / "index", lookup_of, ignore_progress, ignore_progress)
        expected = crawl_answers(folder / "index", folder / "decisions" / PROFILES, pages)
        decided = answers(folder / "decisions")
        assert [decided[str(folder / "pages.jsonl"), number] for number in range(size)] == expected


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seeds=st.tuples(st.integers(0, 1 << 32), st.integers(0, 1 << 32)), size=st.integers(1, 40))
@example(seeds=(8798555, 51), size=48)
def test_a_collection_decides_as_an_index_of_its_pages_does(tmp_path: Path, seeds: tuple[int, int], size: int) -> None:
    with example_folder(tmp_path) as folder:
        source = write_pages(folder / "pages.jsonl", make_pages(seeds[1], size))
        sign([source], folder / "signed")
        find(folder / "signed", folder / "first")
        profiles = folder / "first" / PROFILES
        pages = [*{page.url: page for page in make_pages(seeds[0], 2 * size)}.values()]
        with Deduplicator.open(folder / "before", CONFIG, profiles=profiles) as deduplicator:
            file_pages(deduplicator, pages)
        with closing(open_index(folder / "before")) as before:
            export_index(before, folder / "before.dedup", ignore_progress)
            stored = [record.page.url for record in before.records()]
        assume(stored)
        # In the order of the index, because the oldest pages of a title are compared.
        by_url = {page.url: page for page in pages}
        middle = (len(stored) + 1) // 2
        parts = [part for part in (stored[:middle], stored[middle:]) if part]
        halves = [
            write_pages(folder / f"{number}.jsonl", [by_url[url] for url in part]) for number, part in enumerate(parts)
        ]
        sign(halves, folder / "existing")
        against_index, against_collection = (
            (find(folder / "signed", folder / "out", profiles=profiles, against=folder / name), answers(folder / "out"))
            for name in ("before.dedup", "existing")
        )
        assert against_collection[0].verdicts == against_index[0].verdicts
        assert against_collection[1].keys() == against_index[1].keys()
        for place, answer in against_collection[1].items():
            crawl_answer = against_index[1][place]
            if (answer.distance or 0) > CONFIG.max_distance:  # found by the title: an export has pages in another order
                assert (answer.verdict, answer.rule) == (crawl_answer.verdict, crawl_answer.rule)
            else:
                assert answer == crawl_answer


def test_existing_pages_of_a_collection_must_be_complete_and_signed_in_the_same_way(tmp_path: Path) -> None:
    pages = [write_pages(tmp_path / f"{name}.jsonl", [Page("http://h/", article("x"))]) for name in ("old", "new")]
    for path in pages:
        sign([path], tmp_path / path.stem)
    sign([pages[0]], tmp_path / "by domain", scope="domain")
    report = find(tmp_path / "new", tmp_path / "decisions", against=tmp_path / "old")
    assert report.verdicts[Verdict.UNCHANGED] == 1
    (row,) = table(tmp_path / "decisions" / CLUSTERS)
    assert (row["representative"], row["representative_input"]) == ("http://h/", str(tmp_path / "old"))
    with pytest.raises(IndexMismatch, match="scope"):
        find(tmp_path / "new", tmp_path / "decisions", against=tmp_path / "by domain")
    next((tmp_path / "old").glob("*.parquet")).unlink()
    with pytest.raises(DedupError, match="damaged"):
        find(tmp_path / "new", tmp_path / "decisions", against=tmp_path / "old")


def test_a_site_that_an_index_knows_is_not_learned_again(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path / "before", CONFIG) as deduplicator:
        file_pages(
            deduplicator, [Page(f"http://known/{number}", story(f"old {number}")) for number in range(MIN_PAGES)]
        )
    with closing(open_index(tmp_path / "before")) as before:
        export_index(before, tmp_path / "before.dedup", ignore_progress)
    pages = [
        Page(f"http://{host}/{number}", story(f"{host} {number}")) for host in ("known", "new") for number in range(20)
    ]
    assert search(tmp_path, pages, against=tmp_path / "before.dedup").known_sites == 2
    decisions = decide(tmp_path / "index", tmp_path / "decisions" / PROFILES, pages)
    assert [decision.snapshot for decision in decisions] == [MIN_PAGES] * 20 + [20] * 20


def test_sites_are_learned_before_pages_are_decided(tmp_path: Path) -> None:
    pages = [Page(f"http://h/{number}", story(number)) for number in range(MIN_PAGES + 1)]
    assert search(tmp_path, pages).known_sites == 1
    decisions = decide(tmp_path / "index", tmp_path / "decisions" / PROFILES, pages)
    assert {decision.snapshot for decision in decisions} == {MIN_PAGES + 1}
    # What is known of sites can be used for another collection.
    other_pages = [Page("http://h/other", story("other"))]
    sign([write_pages(tmp_path / "other.jsonl", other_pages)], tmp_path / "other")
    assert find(tmp_path / "other", tmp_path / "out").known_sites == 0
    assert find(tmp_path / "other", tmp_path / "out", profiles=tmp_path / "decisions" / PROFILES).known_sites == 1


def test_a_large_site_is_learned_from_a_sample_and_copies_count_once(tmp_path: Path) -> None:
    pages = [Page(f"http://large/{number}", article(number, count=30)) for number in range(LEARNED_PAGES + 60)]
    pages += [Page(f"http://copies/{number}", article("copy", count=30)) for number in range(4 * MIN_PAGES)]
    assert search(tmp_path, pages).known_sites == 1
    (decision,) = decide(tmp_path / "index", tmp_path / "decisions" / PROFILES, pages[:1])
    assert decision.snapshot == LEARNED_PAGES


def test_pages_are_decided_in_the_requested_order(tmp_path: Path) -> None:
    pages = [Page(f"http://h/{number}", article("x", frame="." * number)) for number in (3, 9, 1)]
    source = write_pages(tmp_path / "pages.jsonl", pages)
    sign([source], tmp_path / "signed")
    for order, first in {"": "http://h/3", "size": "http://h/1", "-size": "http://h/9"}.items():
        find(tmp_path / "signed", tmp_path / "decisions", order=order)
        assert [(row["id"], row["duplicates"]) for row in table(tmp_path / "decisions" / KEPT)] == [(first, 2)]
        assert {row["representative"] for row in table(tmp_path / "decisions" / CLUSTERS)} == {first}
    with pytest.raises(DedupError, match="cannot be ordered by 'url'"):
        find(tmp_path / "signed", tmp_path / "decisions", order="url")


def test_pages_of_different_scopes_are_not_compared(tmp_path: Path) -> None:
    pages = [Page(f"http://{host}/", article("x")) for host in ("a.example.org", "b.example.org", "example.com")]
    for scope, kept in {"global": 1, "domain": 2}.items():
        config, folder = Config(tokenizer="bigrams", scope=scope), tmp_path / scope
        folder.mkdir()
        assert search(folder, pages, config).kept == kept
        sign([folder / "pages.jsonl"], folder / "by option", scope=scope)
        assert find(folder / "by option", folder / "decisions").kept == kept
        decisions = decide(folder / "index", folder / "decisions" / PROFILES, pages, Config(scope=scope))
        assert sum(decision.passes for decision in decisions) == kept


@pytest.mark.parametrize("size", [MIN_PAGES, 120])
def test_profiles_of_another_scope_are_warned_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, size: int
) -> None:
    pages = [Page(f"http://h/{number}", story(number)) for number in range(size)]
    search(tmp_path, pages)
    profiles = tmp_path / "decisions" / PROFILES
    decide(tmp_path / "index", profiles, pages)
    assert not caplog.records
    decide(tmp_path / "other", profiles, pages, Config(tokenizer="bigrams", scope="domain"))
    assert caplog.text.count(f"of {size} pages in the scope 'domain h', none is") == 1
    sign([tmp_path / "pages.jsonl"], tmp_path / "by domain", scope="domain")
    find(tmp_path / "by domain", tmp_path / "decided", profiles=profiles)
    assert caplog.text.count(f"of {size} pages in the scope 'domain', none is") == 1
    assert len(caplog.records) == 2


def test_pages_of_different_languages_are_not_compared(tmp_path: Path) -> None:
    notes = [
        "This is all that you get from us.",
        "Das ist alles, was Sie von uns bekommen.",
        "This is all that you get from us.",
    ]
    bodies = [article("x").replace("</h1>", f"</h1><p>{note}</p>") for note in notes]
    pages = [Page(f"http://{host}.example/", body) for host, body in zip("abc", bodies, strict=True)]
    source = write_pages(tmp_path / "pages.jsonl", pages)
    for scope, kept in {"global": 1, "language": 2}.items():
        sign([source], tmp_path / scope, scope=scope)
        assert find(tmp_path / scope, tmp_path / "decisions").kept == kept


def test_a_search_that_is_killed_leaves_no_file_of_its_own(tmp_path: Path) -> None:
    sign([write_pages(tmp_path / "pages.jsonl", make_pages(1, 40))], tmp_path / "signed")
    output, present = tmp_path / "decisions", set[str]()

    def start(stage: str, _: int | None) -> Advance:
        def note_files(_: int) -> None:
            present.update(path.name for path in output.rglob("*") if path.is_file())

        return note_files if stage == "deciding" else ignore_progress

    find_duplicates(tmp_path / "signed", output, CONFIG, start)
    assert present == {PROFILES}


def test_too_little_memory_is_refused_before_any_work(tmp_path: Path) -> None:
    sign([write_pages(tmp_path / "pages.jsonl", [Page("http://h/", article("x"))])], tmp_path / "signed")
    with pytest.raises(DedupError, match=r"At least 283M of memory is needed \(pages: 1\): allow more"):
        find(tmp_path / "signed", tmp_path / "decisions", memory=100 << 20)


def test_too_little_memory_for_keys_is_reported(tmp_path: Path) -> None:
    pages = [Page(f"http://h/{number}", article(number)) for number in range(6)]
    config = Config(tokenizer="bigrams", scheme="minhash")  # it has 25 keys a page
    sign([write_pages(tmp_path / "pages.jsonl", pages)], tmp_path / "signed", config)
    shards = Collection.open(tmp_path / "signed")
    rows = read_rows(shards.shards, shards.require_whole(ignore_progress))
    matcher, sites = RememberingMatcher(config, Signer(config).scheme), FrozenProfiles({})
    with pytest.raises(DedupError, match="keys by which pages are looked up"):
        find_candidates(rows, ExistingPages(), matcher.scheme, matcher, sites, 25 * 5 * ENTRY_BYTES, ignore_progress)
