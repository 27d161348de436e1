"""A text is a duplicate of one of which it is a part, under the same title, also where their signatures are far apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup import Config, Deduplicator, Verdict
from crawler_dedup.signedpage import PageKind, SignedPage
from tests.support.crawling import words
from tests.support.sitepages import MENU, SITE, Crawl, is_duplicate, page

knowing = pytest.mark.parametrize("known", [False, True], ids=["site unknown", "site known"])

NAME = "A bridge of willow over the Ouse"
POSTS = [" ".join(words(f"post {number}", 14)) + "." for number in range(4)]


def thread(*texts: str, name: str = NAME, below: str = "") -> str:
    return page(
        f"{name} | {SITE}",
        f"<article><h1>{name}</h1>{''.join(f'<p>{text}</p>' for text in texts)}</article>{below}",
        MENU,
    )


def timetable(days: str, minutes: int) -> str:
    """Return the times of some days, of which those of other days are a part."""
    name, times = "Timetable of line 5", [f"{time // 60:02}:{time % 60:02}" for time in range(360, 1200, minutes)]
    rows = "".join(
        f"<tr><td>{stop} Square</td>{''.join(f'<td>{time}</td>' for time in times)}</tr>" for stop in words("stops", 8)
    )
    text = "<p>Buses stop where somebody waits, and tickets are sold by the driver.</p>"
    return page(f"{name} | {SITE}", f"<h1>{name}</h1>{days}{text}<table>{rows}</table>", MENU)


def answer(name: str, text: str) -> str:
    """Return a letter to a mailing list with the first letter quoted below it."""
    subject, quoted = "Re: patch for the pump", " ".join(words("quoted", 40))
    body = f"<h1>{subject}</h1><p>From: {name}</p><p>{text}</p><p>&gt; {quoted}</p>"
    return page(subject, body, MENU)


def are_far_apart(crawl: Crawl, *pages: str) -> bool:
    first, second = (crawl.deduplicator.sign("http://h/x", page.encode()) for page in pages)
    assert first.kind is second.kind is PageKind.TEXT
    return (first.signature ^ second.signature).bit_count() > 7


@knowing
@pytest.mark.parametrize("count", [2, 3])
def test_a_thread_before_its_later_answers_is_a_part_of_the_thread(crawl: Crawl, known: bool, count: int) -> None:
    if known:
        crawl.get_known()
    part, whole = thread(*POSTS[:count]), thread(*POSTS)
    assert are_far_apart(crawl, part, whole) == (count == 2)
    assert crawl.check("/t/1", whole).verdict is Verdict.NEW
    assert is_duplicate(crawl.check("/t/1?unread", part), "http://h/t/1", "alike")


@knowing
def test_the_whole_is_not_covered_by_its_part(crawl: Crawl, known: bool) -> None:
    if known:
        crawl.get_known()
    assert crawl.check("/t/1?unread", thread(*POSTS[:2])).verdict is Verdict.NEW
    assert crawl.check("/t/1", thread(*POSTS)).verdict is Verdict.NEW


@knowing
def test_a_long_text_is_a_part_of_one_with_comments(crawl: Crawl, known: bool) -> None:
    if known:
        crawl.get_known()
    text, comments = " ".join(words("text", 300)), [" ".join(words(f"comment {number}", 25)) for number in range(9)]
    assert crawl.check("/full", thread(text, *comments)).verdict is Verdict.NEW
    assert is_duplicate(crawl.check("/print", thread(text)), "http://h/full", "alike")


@pytest.mark.parametrize(
    ("new", "kept"),
    [
        (thread(*POSTS[:2], name="A bridge of hazel over the Ouse"), thread(*POSTS)),
        (thread(*POSTS[:2], "On 14 May 2024 at 18:30."), thread(*POSTS)),
        (thread("<h2>What the miller's daughter wrote</h2>", *POSTS[:2]), thread(*POSTS)),
        (
            thread(
                *POSTS[:2], below="<div><p>© 2009 By the Society of Bridges and Ferries, Ely, volume four.</p></div>"
            ),
            thread(*POSTS),
        ),
        (
            thread(*POSTS[:2]),
            thread(*(f'<h2><a href="/t/{text[:9]}">The story of {text[:12]}</a></h2><p>{text}</p>' for text in POSTS)),
        ),
        (thread(*POSTS[:2]), thread(*POSTS, *(" ".join(words(f"more {number}", 25)) for number in range(5)))),
        (timetable("<h2>Sundays</h2>", 60), timetable("<h2>Weekdays</h2>", 30)),
        (timetable("<p>Sundays</p>", 60), timetable("<p>Weekdays</p>", 30)),
        (
            answer("Bert Moss", "I agree with the patch."),
            answer("Anna Reed", f"I do not agree with the patch. {' '.join(POSTS[1:3])}"),
        ),
    ],
    ids=[
        "other title",
        "a number",
        "a heading",
        "a line beside the text",
        "a list of texts",
        "a small part",
        "a short heading",
        "a short line",
        "another writer",
    ],
)
@knowing
def test_a_text_is_no_part_of_another_if_something_of_it_is_missing_there(
    crawl: Crawl, known: bool, new: str, kept: str
) -> None:
    if known:
        crawl.get_known()
    assert crawl.check("/kept", kept).verdict is Verdict.NEW
    assert crawl.check("/new", new).verdict is Verdict.NEW


def test_on_one_host_a_page_is_not_covered_by_a_longer_page_with_another_title(crawl: Crawl) -> None:
    """The common part of both titles may be a section that each department has."""
    name = "Frequently asked questions"

    def questions(department: str, *texts: str) -> str:
        return page(f"{name} | {department}", f"<h1>{name}</h1>{''.join(f'<p>{text}</p>' for text in texts)}", MENU)

    assert crawl.check("/physics", questions("Physics", *POSTS)).verdict is Verdict.NEW
    assert crawl.check("/history", questions("History", *POSTS[:2])).verdict is Verdict.NEW


def test_under_the_name_of_the_site_a_part_must_be_most_of_the_whole(crawl: Crawl) -> None:
    """A start page shows the text of an article today, and another text tomorrow."""
    name = "Mill"
    texts = [" ".join(words(f"mill {number}", 22)) for number in range(3)]
    assert crawl.check("/", thread(*texts, name=name)).verdict is Verdict.NEW
    assert crawl.check("/1", thread(*texts[:1], name=name)).verdict is Verdict.NEW


@given(
    whole=st.integers(24, 56),
    share=st.floats(0.3, 1),
    other_words=st.integers(0, 4),
    distance=st.sampled_from([0, 3, 7]),
)
def test_nearly_all_words_of_a_short_text_must_occur_in_the_kept_one(
    tmp_path_factory: pytest.TempPathFactory, whole: int, share: float, other_words: int, distance: int
) -> None:
    """Sets of so few features are kept completely, so that nothing is estimated."""
    count = max(21, round(share * whole))
    text = words("whole", whole)
    new_words = text[:count] + words("other", other_words)
    with Deduplicator.open(_directory(tmp_path_factory), Config(max_distance=distance, fresh=True)) as opened:
        crawl = Crawl(opened)
        new, kept = thread(" ".join(new_words)), thread(" ".join(text))
        assert crawl.check("/kept", kept).verdict is Verdict.NEW
        decision = crawl.check("/new", new)
        first, second = (_sign(opened, words_of_page) for words_of_page in (new, kept))
    common = first.features - other_words
    resemblance, coverage = common / (second.features + other_words), common / first.features
    near = (first.signature ^ second.signature).bit_count() <= distance
    is_part = distance > 0 and coverage >= 0.95 and resemblance >= 0.65**2
    assert (decision.verdict is Verdict.DUPLICATE) == (is_part or (near and coverage >= 0.85 and resemblance >= 0.65))


def _directory(factory: pytest.TempPathFactory) -> Path:
    return factory.getbasetemp() / "parts"


def _sign(opened: Deduplicator, body: str) -> SignedPage:
    return opened.sign("http://h/x", body.encode())
