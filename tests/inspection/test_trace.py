"""Where a text was copied from: ``crawler-dedup trace``, held against every window of every kept page."""

from __future__ import annotations

import gzip
import random
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import lmdb
import pytest
from click.testing import Result
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from crawler_dedup import Decision, Deduplicator, IndexDamaged, Verdict
from crawler_dedup.index.lmdb.buckets import Buckets
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.index.location import Location
from crawler_dedup.index.maintenance import open_pages
from crawler_dedup.index.packing import pack, unpack
from crawler_dedup.index.records import Record
from crawler_dedup.index.runs import wall_clock
from crawler_dedup.index.verdicts import RunContext
from crawler_dedup.inspection.trace import Passage, Source, find_sources
from crawler_dedup.signing import lexicon
from crawler_dedup.signing.features import normalise
from crawler_dedup.signing.initials import find_initial_positions, find_initials
from crawler_dedup.signing.lookup import Lookup
from crawler_dedup.signing.schemes.pinyin import Pinyin
from tests.support.chinese import alike, chinese, letters, with_homophones
from tests.support.commandline import invoke, lines_by_type, printed_text
from tests.support.places import Places
from tests.support.prose import config, html, prose, sentences, text_of

PINYIN = Pinyin()
WINDOW, APART = 48, 4
BIGRAMS = ("-s", "DEDUP_TOKENIZER=bigrams")  # jieba's dictionary takes seconds
NOTHING = "No kept page shares a passage with it."


# Texts


def with_other_letters(text: str, one_in: int = 25) -> str:
    """Return *text* with about one in *every* characters replaced by one with another first letter."""
    source = random.Random(text)
    characters = [character for characters_of_letter in alike().values() for character in characters_of_letter]
    return "".join(
        source.choice(characters) if character >= "\u4e00" and source.randrange(one_in) == 0 else character
        for character in text
    )


PAGES = {  # address → scope, text
    "http://one.org/novel": ("one.org", chinese(0)),
    "http://one.org/other": ("one.org", chinese(1)),
    "http://a.org/story": ("a.org", chinese(2)),
    "http://a.org/english": ("a.org", prose(3)),
    "http://a.org/short": ("a.org", chinese(4)[:40]),  # no window
}
NOVEL, STORY = (PAGES[f"http://{name}"][1] for name in ("one.org/novel", "a.org/story"))

OWN = chinese(5, 3)
FIRST, SECOND = "".join(sentences(0, 14, chinese=True)), "".join(sentences(0, 30, chinese=True)[14:])
INSERTED = "".join(sentences(6, 2, chinese=True))
FROM_STORY = "".join(sentences(2, 12, chinese=True)[4:])
COPY = "\n".join([OWN, with_homophones(FIRST), INSERTED, SECOND, FROM_STORY])
"""The whole novel, of whose first half a third is exchanged, a line in its middle; then a part of the story."""


# Brute force


def windows(text: str, starts: Iterable[int] | None = None) -> list[tuple[int, list[int]]]:
    """Return (start, vector) of each window, or of those that begin at *starts*."""
    rolling = PINYIN.rolling(PINYIN.pack(PINYIN.classes_of(normalise(text))))
    vectors = [[vector >> 4 * place & 15 for place in range(16)] for vector in rolling.numbers.tolist()]
    return [(start, vectors[start]) for start in (range(len(vectors)) if starts is None else starts)]


def is_match(left_window: list[int], right_window: list[int]) -> bool:
    if left_window[:8] != right_window[:8] and left_window[8:] != right_window[8:]:
        return False
    return sum(abs(left - right) for left, right in zip(left_window, right_window, strict=True)) <= APART


def by_hand(text: str, page: str) -> tuple[float, float, set[tuple[int, int]]]:
    """Return the share of the text and of the page, and pairs of starts of matching windows in text and page.

    A new text has a window at each letter, a kept one every half window, and at its end.
    """
    ours, theirs = letters(text), letters(page)
    if min(len(ours), len(theirs)) < WINDOW:
        return 0, 0, set()
    last = len(theirs) - WINDOW
    stored = windows(page, sorted({*range(0, last + 1, WINDOW // 2), last}))
    matches = {
        (start, at)
        for start, window in windows(text)
        for at, stored_window in stored
        if is_match(window, stored_window)
    }
    covered = {place for start, _ in matches for place in range(start, start + WINDOW)}
    return len(covered) / len(ours), len({at for _, at in matches}) / len(stored), matches


def runs_of(matches: set[tuple[int, int]]) -> set[Passage]:
    """Return matches as far apart in the text as in the page, as long as they touch."""
    by_shift = defaultdict(list)
    for start, at in sorted(matches):
        by_shift[at - start].append(start)
    passages = set()
    for shift, starts in by_shift.items():
        begin = last = starts[0]
        for start in [*starts[1:], len(COPY) * 2]:
            if start > last + WINDOW:
                passages.add(Passage(begin, last + WINDOW, begin + shift))
                begin = start
            last = start
    return passages


def common(first: Passage, second: Passage) -> int:
    return max(0, min(first.end, second.end) - max(first.start, second.start))


# Indexes


def fill(directory: Path, pages: dict[str, tuple[str, str]] = PAGES, scheme: str = "pinyin", **settings: Any) -> Path:
    with Deduplicator.open(directory, config(scheme, **settings)) as deduplicator:
        signed = [
            deduplicator.sign(url, html(text), encoding="utf-8", scope=scope) for url, (scope, text) in pages.items()
        ]
        assert {decision.verdict for decision in deduplicator.decide(signed)} <= {Verdict.NEW}
    return directory


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("pages") / "index")


@pytest.fixture
def own_index(index: Path, tmp_path: Path) -> Path:
    """Return the same, to be changed."""
    return shutil.copytree(index, tmp_path / "index")


def traced(location: Location, text: str) -> dict[str, Source]:
    store = open_pages(location)
    try:
        sources = find_sources(normalise(text), PINYIN, store)
    finally:
        store.close()
    assert len({source.page.url for source in sources}) == len(sources)
    return {source.page.url: source for source in sources}


# The command


def trace(file: Path | str, index: Path | str, *options: object, status: int = 0) -> Result:
    return invoke("trace", file, index, *options, status=status)


def sources_in(result: Result) -> list[Any]:
    return lines_by_type(result).get("source", [])


def cells(result: Result) -> list[list[str]]:
    """Return the rows of the table that was printed."""
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in result.output.splitlines() if "│" in line]
    return [line for line in lines if line]


def text_file(folder: Path, text: str = COPY, name: str = "copy.txt") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


# What is found


def test_a_copy_is_traced_to_both_pages_of_both_scopes(index: Path) -> None:
    sources = traced(index, COPY)
    assert list(sources) == ["http://one.org/novel", "http://a.org/story"]
    novel, story = sources.values()  # the one with the larger share first
    assert (novel.page.scope, story.page.scope) == ("one.org", "a.org")
    whole = len(letters(COPY))
    # Windows on the edge of a copied part reach a little further, or lack a little.
    assert novel.share_of_text == pytest.approx(len(letters(NOVEL)) / whole, abs=0.1)
    assert story.share_of_text == pytest.approx(len(letters(FROM_STORY)) / whole, abs=0.1)
    assert novel.share_of_page > 0.85
    assert story.share_of_page == pytest.approx(len(letters(FROM_STORY)) / len(letters(STORY)), abs=0.15)


OTHER = PAGES["http://one.org/other"][1]
CHANGED = with_other_letters(OTHER)
TEXTS = {"copy": COPY, "changed": CHANGED, "changed much, but for the end": with_other_letters(OTHER, 12) + OTHER[-80:]}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_shares_are_counted_over_all_windows_and_passages_are_the_longest_runs_of_them(index: Path, text: str) -> None:
    sources = traced(index, text)
    assert sources
    for url, (_, page) in PAGES.items():
        of_text, of_page, matches = by_hand(text, page)
        assert (url in sources) == bool(matches)
        if not matches:
            continue
        source = sources[url]
        assert (source.share_of_text, source.share_of_page) == pytest.approx((of_text, of_page))
        runs, listed = runs_of(matches), list(source.passages)
        assert set(listed) <= runs
        assert listed == sorted(listed, key=lambda passage: passage.start)
        for run in runs - set(listed):  # windows beside one that matches are nearly like it
            length = run.end - run.start
            assert any(2 * common(run, other) > length and other.end - other.start >= length for other in listed)


def test_only_the_longest_of_many_passages_are_reported(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passages = traced(index, CHANGED)["http://one.org/other"].passages
    assert len(passages) > 3
    monkeypatch.setattr("crawler_dedup.inspection.trace.MAX_PASSAGES", 3)
    reported = traced(index, CHANGED)["http://one.org/other"].passages
    longest = sorted((passage.end - passage.start for passage in passages), reverse=True)[:3]
    assert sorted((passage.end - passage.start for passage in reported), reverse=True) == longest
    assert list(reported) == sorted(set(reported) & set(passages), key=lambda passage: passage.start)


def test_a_complete_copy_is_wholly_covered_and_an_unknown_text_not_at_all(index: Path) -> None:
    (whole,) = traced(index, NOVEL).values()
    assert (whole.page.url, whole.share_of_text, whole.share_of_page) == ("http://one.org/novel", 1.0, 1.0)
    assert whole.passages[0] == Passage(0, len(letters(NOVEL)), 0)
    assert traced(index, chinese(7)) == {}


def test_a_single_window_is_enough_to_be_traced(index: Path) -> None:
    at = 5 * WINDOW // 2
    plain = normalise(STORY)
    places = find_initial_positions(plain)
    passage = plain[places[at] : places[at + WINDOW]]
    assert len(letters(passage)) == WINDOW
    (source,) = traced(index, passage).values()
    assert (source.page.url, source.share_of_text) == ("http://a.org/story", 1.0)
    assert Passage(0, WINDOW, at) in source.passages
    assert traced(index, passage[1:]) == {}  # shorter than a window


def test_pages_with_the_same_text_are_all_named(tmp_path: Path) -> None:
    fill(tmp_path / "index", {f"http://{name}.org/": (name, NOVEL) for name in "hbgdcfea"})
    assert list(traced(tmp_path / "index", NOVEL)) == [f"http://{name}.org/" for name in "abcdefgh"]


def test_only_the_pages_with_most_in_common_are_compared_if_there_are_many(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = "\n".join([FROM_STORY, chinese(3, 2), NOVEL[:200]])
    other_page = {"http://b.org/": ("a.org", f"{NOVEL[:100]}\n{chinese(7)}")}
    with tempfile.TemporaryDirectory() as folder:
        both = fill(Path(folder) / "index", {**PAGES, **other_page})
        assert {"http://a.org/story", "http://b.org/"} < set(traced(both, part))
        monkeypatch.setattr("crawler_dedup.inspection.trace.MAX_CANDIDATES", 1)
        assert {url for url in traced(both, part) if "one.org" not in url} == {"http://a.org/story"}


def test_a_copy_in_traditional_characters_is_traced(tmp_path: Path) -> None:
    """The reading of 乾, which is folded to 干, begins with a different letter."""
    page, copy = NOVEL.replace("，", "干"), NOVEL.replace("，", "乾")
    assert find_initials("干").tolist() != find_initials("乾").tolist()
    index = fill(tmp_path / "index", {"http://one.org/": ("", page)})
    (expected,) = sources_in(trace(text_file(tmp_path, page), index, "--json"))
    assert expected["share_of_text"] == 1
    assert sources_in(trace(text_file(tmp_path, copy), index, "--json")) == [expected]


# Pages that do not stand


def open_claim(location: str) -> tuple[Deduplicator, Decision]:
    """Return the novel, being handled."""
    crawl = Deduplicator.open(location, config("pinyin"))
    page = crawl.sign("http://one.org/novel", html(NOVEL), encoding="utf-8")
    (decision,) = crawl.submit([page], claim=True).result()
    assert decision.verdict is Verdict.NEW
    return crawl, decision


def test_a_page_is_traced_only_after_it_was_handled_successfully(places: Places) -> None:
    crawl, decision = open_claim(places.word())
    with crawl:
        assert traced(places(), COPY) == {}
        assert crawl.settle(decision)
        assert list(traced(places(), COPY)) == ["http://one.org/novel"]
        assert crawl.release(decision)
        assert traced(places(), COPY) == {}


def test_a_page_that_a_dead_run_may_have_lost_is_not_kept(places: Places) -> None:
    crawl, decision = open_claim(places.word())
    assert crawl.settle(decision)
    crawl.close(all_stored=False)
    assert traced(places(), COPY) == {}


def test_a_page_that_was_handled_long_before_its_run_died_is_kept(tmp_path: Path) -> None:
    store_page(tmp_path, NOVEL, settled=wall_clock() - 10_000)
    assert list(traced(tmp_path, COPY)) == ["http://one.org/novel"]


def store_page(directory: Path, text: str, *, settled: int, url: str = "http://one.org/novel") -> None:
    """Record a page of a run that has died now."""
    with Deduplicator.open(directory, config("pinyin")) as deduplicator:
        page = deduplicator.sign(url, html(text), encoding="utf-8")
    store = DirectoryIndex.attach(directory)
    dead = RunContext(run=7, grace=60)
    store.merge([Record(page, dead.run, settled=settled)], Lookup(PINYIN))
    store.close()


# What is printed


def test_the_table_and_json_have_the_shares_passages_and_pages(index: Path, tmp_path: Path) -> None:
    sources = traced(index, COPY)
    assert cells(trace(text_file(tmp_path), index)) == [
        [f"{source.share_of_text:.1%}", f"{source.share_of_page:.1%}", str(len(source.passages)), url]
        for url, source in sources.items()
    ]
    assert sources_in(trace(text_file(tmp_path), index, "--json")) == [
        {
            "type": "source",
            "url": url,
            "scope": source.page.scope,
            "share_of_text": source.share_of_text,
            "share_of_page": source.share_of_page,
            "passages": [{"start": passage.start, "end": passage.end, "at": passage.at} for passage in source.passages],
        }
        for url, source in sources.items()
    ]


def test_passages_are_listed_with_their_first_words(index: Path, tmp_path: Path) -> None:
    output = trace(text_file(tmp_path), index, "--windows").stdout
    plain = normalise(COPY)
    places = find_initial_positions(plain)
    for url, source in traced(index, COPY).items():
        block = output.split(f"\n{url}\n")[1].split("\n\n")[0]
        lines = [line for line in block.splitlines() if line.startswith("  letters ")]
        assert len(lines) == len(source.passages)
        for line, passage in zip(lines, source.passages, strict=True):
            begins = " ".join(plain[places[passage.start] : places[passage.start] + 20].split())
            letters_of_text = f"letters {passage.start}–{passage.end} of the text"
            assert line == f"  {letters_of_text}, from letter {passage.at} of the page: {begins} …"
    assert "letters " not in trace(text_file(tmp_path), index).stdout


def test_pages_with_less_than_the_least_share_are_left_out(index: Path, tmp_path: Path) -> None:
    novel, story = traced(index, COPY).values()
    assert novel.share_of_text > story.share_of_text > 0
    file = text_file(tmp_path)

    share = story.share_of_text
    for least, number in {0: 2, share: 2, share + 1e-6: 1, novel.share_of_text: 1, 1: 0}.items():
        assert len(sources_in(trace(file, index, "--json", "--least", least))) == number
    for least in (-0.1, 1.1):
        assert "--least" in printed_text(trace(file, index, "--least", least, status=2))


def test_a_passage_of_less_than_a_hundredth_is_shown_only_on_request(index: Path, tmp_path: Path) -> None:
    passage = "".join(sentences(2, 3, chinese=True))[:60]
    file = text_file(tmp_path, "".join(chinese(seed, 300) for seed in (5, 6)) + passage)
    (source,) = sources_in(trace(file, index, "--json", "--least", 0))
    assert 0 < source["share_of_text"] < 0.01
    assert printed_text(trace(file, index)) == printed_text(trace(file, index, "--windows")) == NOTHING
    assert sources_in(trace(file, index, "--json")) == []


@pytest.mark.parametrize("part", ["[/b]", "[red]x[/red]", "[1]", "[link=http://c.org]", ":smile:"], ids=ascii)
def test_an_address_is_shown_as_it_is(tmp_path: Path, part: str) -> None:
    url = f"http://one.org/{part}"
    fill(tmp_path / "index", {url: ("", NOVEL)})
    assert cells(trace(text_file(tmp_path), tmp_path / "index"))[0][-1] == url


def test_text_and_pages_cannot_control_the_terminal(tmp_path: Path) -> None:
    store_page(tmp_path / "index", NOVEL, settled=1, url="http://one.org/\x1b[2J\x9b31m\u202e")
    file = text_file(tmp_path, f"{NOVEL[:3]}\x9b1\x1b]0;\x07\u202e{NOVEL[3:]}")
    output = trace(file, tmp_path / "index", "--windows").stdout
    assert "letters 0–" in output
    assert all(character.isprintable() or character == "\n" for character in output)


# Files


PAGE = html(NOVEL, "".join(sentences(7, 1, chinese=True)))
MARKED = ("<p>" + NOVEL.replace("。", "<b>。")).encode()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *((name, PAGE) for name in ("page.html", "page.htm", "PAGE.HTML", "page", "page.html.gz", "page.HTML.GZ")),
        *((name, MARKED) for name in ("copy.txt", "COPY.TXT", "copy.txt.gz", "COPY.TXT.GZ")),
    ],
)
def test_the_main_text_of_an_html_file_is_traced_and_all_of_a_text_file(
    index: Path, tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(gzip.compress(content) if name.lower().endswith("gz") else content)
    (source,) = sources_in(trace(tmp_path / name, index, "--json", *BIGRAMS))
    assert source["url"] == "http://one.org/novel"
    # The letters of markup are letters of a text.
    assert (source["share_of_text"] == 1, source["share_of_page"] == 1) == (content is not MARKED,) * 2


SHORT = normalise(NOVEL)[: find_initial_positions(normalise(NOVEL))[WINDOW - 1]].encode()
TOO_SHORT = " has fewer than 48 letters, the least that are compared."


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        *(("copy.txt", text, TOO_SHORT) for text in (b"", b" \n", b"x" * 1000, "。".encode() * 1000, SHORT)),
        ("copy.txt.gz", b"", TOO_SHORT),
        ("page.html", b"<html><body><nav>one</nav></body></html>", TOO_SHORT),
        ("page.html", b"<div>" * 1000 + NOVEL.encode(), " has nested too deep."),
        ("copy.docx", b"PK\x03\x04" + random.Random(1).randbytes(20_000), " is no HTML."),
        *(("copy.txt", NOVEL.encode(encoding), " is no text in UTF-8.") for encoding in ("gb18030", "utf-16")),
        *(
            (name, content, " cannot be read: ")
            for name in ("copy.txt.gz", "page.html.gz")
            for content in (
                gzip.compress(NOVEL.encode(), mtime=0)[:-100],
                b"no gzip",
                gzip.compress(b"x", mtime=0)[:9] + b"\xff",
            )
        ),
    ],
)
def test_a_file_that_cannot_be_traced_is_refused_in_a_sentence(
    index: Path, tmp_path: Path, name: str, content: bytes, sentence: str
) -> None:
    (tmp_path / name).write_bytes(content)
    refused = printed_text(trace(tmp_path / name, index, *BIGRAMS, status=2))
    assert refused.startswith(f"Error: {tmp_path / name}{sentence}")


def test_the_length_of_the_window_is_that_of_the_index(tmp_path: Path) -> None:
    fill(tmp_path / "index", scheme="pinyin window=80")
    text = normalise(NOVEL)[:100]
    assert WINDOW < len(letters(text[:70])) < 80 <= len(letters(text))
    assert "fewer than 80 letters" in printed_text(trace(text_file(tmp_path, text[:70]), tmp_path / "index", status=2))
    (source,) = sources_in(trace(text_file(tmp_path, text), tmp_path / "index", "--json"))
    assert all(passage["end"] - passage["start"] >= 80 for passage in source["passages"])


@pytest.mark.parametrize("name", ["copy.txt", "page.html", "copy.txt.gz"])
def test_a_file_beyond_the_limit_is_refused_for_its_size(index: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(html(NOVEL)) if name.endswith("gz") else html(NOVEL))
    assert sources_in(trace(tmp_path / name, index, "--json", *BIGRAMS, "-s", "DEDUP_MAX_BYTES=5000"))
    refused = printed_text(trace(tmp_path / name, index, *BIGRAMS, "-s", "DEDUP_MAX_BYTES=1000", status=2))
    assert refused.startswith("Error: ")
    assert "fewer than" not in refused


def test_a_missing_file_is_reported_in_a_sentence(index: Path, tmp_path: Path) -> None:
    assert "does not exist" in printed_text(trace(tmp_path / "none.txt", index, status=2))
    assert "directory" in printed_text(trace(tmp_path, index, status=2))


# Indexes that cannot be used


@pytest.mark.parametrize("scheme", ["simhash", "minhash rows=4"])
def test_an_index_of_another_scheme_is_refused_and_the_scheme_named(tmp_path: Path, scheme: str) -> None:
    fill(tmp_path / "index", {}, scheme)
    refused = printed_text(trace(text_file(tmp_path), tmp_path / "index", status=2))
    assert refused.startswith(f"Error: The index in {tmp_path / 'index'} was made with '{scheme.partition(' ')[0]} ")
    assert refused.endswith("trace needs DEDUP_SCHEME = 'winnowing' or 'pinyin'.")


def test_options_that_are_not_filed_do_not_matter(index: Path, tmp_path: Path) -> None:
    fill(tmp_path / "index", scheme="pinyin coverage=1 resemblance=1")
    file = text_file(tmp_path)
    assert sources_in(trace(file, tmp_path / "index", "--json")) == sources_in(trace(file, index, "--json"))


@pytest.fixture
def lexica(tmp_path: Path) -> tuple[Path, Path]:
    """Return two of other texts."""
    files = tmp_path / "first", tmp_path / "second"
    for file, seeds in zip(files, (range(4), range(4, 8)), strict=True):
        lexicon.build([text_of(chinese(seed)) for seed in seeds]).write(file)
    return files


def test_an_index_made_with_a_lexicon_is_traced_with_it(tmp_path: Path, lexica: tuple[Path, Path]) -> None:
    fill(tmp_path / "index", scheme=f"pinyin lexicon={lexica[0]}")
    file = text_file(tmp_path)
    for options in ([], ["-s", f"DEDUP_SCHEME=pinyin lexicon={lexica[1]}"]):
        refused = printed_text(trace(file, tmp_path / "index", *options, status=2))
        assert refused == (
            f"Error: The index in {tmp_path / 'index'} was made with another lexicon: name it, "
            '-s DEDUP_SCHEME="pinyin lexicon=FILE".'
        )
    sources = sources_in(trace(file, tmp_path / "index", "--json", "-s", f"DEDUP_SCHEME=pinyin lexicon={lexica[0]}"))
    assert [source["url"] for source in sources] == ["http://one.org/novel", "http://a.org/story"]


@pytest.mark.parametrize("content", [None, b"no lexicon", b"crawler-dedup lexicon 1\n" + b"garbage"])
def test_a_lexicon_that_cannot_be_read_is_reported_in_a_sentence(
    index: Path, tmp_path: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "lexicon").write_bytes(content)
    scheme = f"DEDUP_SCHEME=pinyin lexicon={tmp_path / 'lexicon'}"
    refused = printed_text(trace(text_file(tmp_path), index, "-s", scheme, status=2))
    assert refused.startswith("Error: ")
    assert str(tmp_path / "lexicon") in refused


def rewrite(directory: Path, database: bytes, change: Any) -> None:
    """Let *change* make the content of every entry."""
    with lmdb.open(str(directory), max_dbs=8) as env:
        entries = env.open_db(database)
        with env.begin(write=True, db=entries) as txn:
            for name, content in list(txn.cursor()):
                txn.put(name, change(content))


@pytest.mark.parametrize("database", [b"records", b"tables", b"numbers"])
def test_a_damaged_index_is_reported_in_a_sentence(own_index: Path, tmp_path: Path, database: bytes) -> None:
    rewrite(own_index, database, lambda content: content[:-1])
    with pytest.raises(IndexDamaged):
        traced(own_index, COPY)
    refused = printed_text(trace(text_file(tmp_path), own_index, status=2))
    assert refused.startswith("Error: ")
    assert "damaged" in refused


@pytest.mark.parametrize(
    "damage",
    [lambda value: b"x", lambda value: b"\xff" + value[1:], lambda value: value[:20], lambda value: b"\0" * 17],
    ids=["cut off", "another beginning", "few letters", "no letters"],
)
def test_a_page_with_a_damaged_value_is_no_source_and_hides_no_other(
    own_index: Path, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    def with_damage(content: bytes) -> bytes:
        record = unpack(content)
        if record.page.url != "http://one.org/novel":
            return content
        return pack(replace(record, page=replace(record.page, value=damage(record.page.value))))

    rewrite(own_index, b"records", with_damage)
    sources = sources_in(trace(text_file(tmp_path), own_index, "--json"))
    assert [source["url"] for source in sources] == ["http://a.org/story"]


# The scopes of an index

SCOPES = st.sampled_from([0, 1, 2, 255, 256, 2**31, 2**32 - 2, 2**32 - 1]) | st.integers(0, 2**32 - 1)
KEYS = st.sampled_from([0, 1, 2**64 - 1]) | st.integers(0, 2**64 - 1)


@given(st.lists(st.tuples(SCOPES, KEYS, st.sampled_from([1, 2, 252])), max_size=8))
def test_the_scopes_are_those_in_which_pages_are_filed(filed: list[tuple[int, int, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder, lmdb.open(folder, map_size=1 << 28, max_dbs=1, sync=False) as env:
        with env.begin(write=True, buffers=True) as txn:
            buckets = Buckets(env, txn, b"tables")
            for at, (scope, key, count) in enumerate(filed):
                for payload in range(count):
                    buckets.insert(txn, scope, [key], at << 32 | payload)
            assert list(buckets.scopes(txn)) == sorted({scope for scope, _, _ in filed})
            for at, (scope, key, count) in enumerate(filed[:3]):
                for payload in range(count):
                    buckets.remove(txn, scope, [key], at << 32 | payload)
        with env.begin(buffers=True) as txn:
            assert list(buckets.scopes(txn)) == sorted({scope for scope, _, _ in filed[3:]})
