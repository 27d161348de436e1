"""On another host a text in another frame is a duplicate under the same title, also where the signatures are far apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawler_dedup import Config, Deduplicator, Verdict
from crawler_dedup.signedpage import PageKind
from tests.support.crawling import words
from tests.support.sitepages import MENU, SITE, Crawl, is_duplicate, page

NAME = "What the ferrymen told each other"
POSTS = [" ".join(words(f"told {number}", 14)) + "." for number in range(20)]


def thread(host: str, posts: list[str] = POSTS, name: str = NAME) -> str:
    """Return a thread, with what its *host* writes below each post."""
    below = f"<p>{' '.join(words(host, 16))}</p>"
    text = "".join(f"<p>{post}</p>{below}" for post in posts)
    return page(f"{name} | {SITE}", f"<article><h1>{name}</h1>{text}</article>", MENU)


def are_far_apart(deduplicator: Deduplicator, *pages: str) -> bool:
    first, second = (deduplicator.sign("http://h/x", page.encode()) for page in pages)
    assert first.kind is second.kind is PageKind.TEXT
    return (first.signature ^ second.signature).bit_count() > 7


def test_text_that_another_host_writes_between_the_paragraphs_does_not_make_another_page(
    crawl: Crawl, mirror: Crawl
) -> None:
    assert are_far_apart(crawl.deduplicator, thread("river"), thread("harbour"))
    assert crawl.check("/t/1", thread("river")).verdict is Verdict.NEW
    assert is_duplicate(mirror.check("/t/1", thread("harbour")), "http://h/t/1", "alike")


def test_on_one_host_text_between_the_paragraphs_makes_another_page(crawl: Crawl) -> None:
    assert crawl.check("/t/1", thread("river")).verdict is Verdict.NEW
    assert crawl.check("/t/2", thread("harbour")).verdict is Verdict.NEW


OTHER_POSTS = [" ".join(words(f"other {number}", 14)) + "." for number in range(20)]


@pytest.mark.parametrize(
    ("name", "posts"),
    [("What the reeves told each other", POSTS), (NAME, POSTS[:15] + OTHER_POSTS[:5])],
    ids=["other title", "other words"],
)
def test_the_title_and_most_words_must_be_equal(crawl: Crawl, mirror: Crawl, name: str, posts: list[str]) -> None:
    assert are_far_apart(crawl.deduplicator, thread("river"), thread("harbour", posts, name))
    assert crawl.check("/t/1", thread("river")).verdict is Verdict.NEW
    assert mirror.check("/t/1", thread("harbour", posts, name)).verdict is Verdict.NEW


def test_two_texts_made_from_a_template_are_two_pages(crawl: Crawl, mirror: Crawl) -> None:
    terms, other_terms = (thread("river", [*POSTS[:17], *last_posts]) for last_posts in (POSTS[17:], OTHER_POSTS[:3]))
    assert crawl.check("/terms", terms).verdict is Verdict.NEW
    assert mirror.check("/terms", other_terms).verdict is Verdict.NEW


QUESTION = "".join(f"<p>{' '.join(words(f'asked {number}', 20))}.</p>" for number in range(7))


def question(about: str, count: int) -> str:
    """Return a question, with so many answers that no other forum has."""
    answers = "".join(f"<div><p>{' '.join(words(f'{about} {number}', 60))}.</p></div>" for number in range(count))
    return page(f"{NAME} | {SITE}", f"<article><h1>{NAME}</h1>{QUESTION}</article><section>{answers}</section>", MENU)


@pytest.mark.parametrize("kept", [0, 12])
def test_the_same_question_with_other_answers_is_another_page(crawl: Crawl, mirror: Crawl, kept: int) -> None:
    assert crawl.check("/q/1", question("river", kept)).verdict is Verdict.NEW
    assert mirror.check("/q/1", question("harbour", 12)).verdict is Verdict.NEW


def test_a_question_without_the_answers_is_a_duplicate(crawl: Crawl, mirror: Crawl) -> None:
    assert crawl.check("/q/1", question("river", 12)).verdict is Verdict.NEW
    assert is_duplicate(mirror.check("/q/1", question("harbour", 0)), "http://h/q/1", "alike")


def test_a_short_name_may_be_the_name_of_the_site(crawl: Crawl, mirror: Crawl) -> None:
    assert crawl.check("/", thread("river", name="Ferry")).verdict is Verdict.NEW
    assert mirror.check("/", thread("harbour", name="Ferry")).verdict is Verdict.NEW


def test_with_a_distance_of_0_only_the_same_text_is_a_duplicate(tmp_path: Path) -> None:
    with Deduplicator.open(tmp_path, Config(tokenizer="bigrams", max_distance=0)) as opened:
        assert Crawl(opened).check("/t/1", thread("river")).verdict is Verdict.NEW
        assert Crawl(opened, "http://mirror").check("/t/1", thread("harbour")).verdict is Verdict.NEW
