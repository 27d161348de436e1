from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from crawler_dedup import BEING_HANDLED, Config, ConfigError, Decision, Deduplicator, SignedPage, Verdict
from tests.support.crawling import article


def check(deduplicator: Deduplicator, url: str, body: str | bytes) -> Decision:
    return deduplicator.check(url, body if isinstance(body, bytes) else body.encode())


def test_a_page_is_new_unchanged_or_changed_and_its_copy_is_a_duplicate(deduplicator: Deduplicator) -> None:
    first = check(deduplicator, "http://a/1", article("x"))
    assert (first.verdict, first.passes, first.match) == (Verdict.NEW, True, None)
    second = check(deduplicator, "http://a/2", article("x", frame="another advertisement"))
    assert (second.verdict, second.passes, second.duplicate_of) == (Verdict.DUPLICATE, False, "http://a/1")
    assert second.match is not None
    assert "http://a/2" in str(second)
    assert "http://a/1" in str(second)
    second_visit = check(deduplicator, "http://a/1", article("x", frame="yet another"))
    assert (second_visit.verdict, second_visit.passes) == (Verdict.UNCHANGED, True)
    assert check(deduplicator, "http://a/1", article("y")).verdict is Verdict.CHANGED
    assert check(deduplicator, "http://a/2", article("x")).verdict is Verdict.NEW
    assert check(deduplicator, "http://a/3", article("y")).duplicate_of == "http://a/1"
    assert len(deduplicator) == 2


def test_keys_and_scopes_can_be_given(deduplicator: Deduplicator) -> None:
    body = article("x").encode()
    assert deduplicator.check("http://a/1", body, key="one", scope="s").verdict is Verdict.NEW
    assert deduplicator.check("http://a/1?moved", body, key="one", scope="s").verdict is Verdict.UNCHANGED
    assert deduplicator.check("http://a/1", body, key="one", scope="t").verdict is Verdict.NEW


@pytest.mark.parametrize(
    ("scope", "named"),
    [("spider", "global"), ("global", "global"), ("domain", "domain example.org"), ("language", "language ?")],
)
def test_the_setting_says_which_pages_are_compared(tmp_path: Path, scope: str, named: str) -> None:
    with Deduplicator.open(tmp_path, Config(tokenizer="bigrams", scope=scope)) as deduplicator:
        assert check(deduplicator, "http://a.example.org/", article("x")).scope == named
        verdict = check(deduplicator, "http://example.com/", article("x")).verdict
    assert verdict is (Verdict.NEW if scope == "domain" else Verdict.DUPLICATE)


@pytest.mark.parametrize("scope", ["project.scopes.by_host", lambda *_: "x"])
def test_a_scope_that_only_a_crawl_can_find_has_to_be_given(tmp_path: Path, scope: Any) -> None:
    with Deduplicator.open(tmp_path, Config(tokenizer="bigrams", scope=scope)) as deduplicator:
        with pytest.raises(ConfigError, match="give the scope of the pages"):
            check(deduplicator, "http://a/", article("x"))
        assert deduplicator.check("http://a/", article("x").encode(), scope="s").scope == "s"


def test_a_large_batch_is_decided_in_several_transactions(
    deduplicator: Deduplicator, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit, sizes = deduplicator.submit, list[int]()

    def note_size(pages: Sequence[SignedPage]) -> Future[list[Decision]]:
        sizes.append(len(pages))
        return submit(pages)

    monkeypatch.setattr(deduplicator, "submit", note_size)
    monkeypatch.setattr(type(deduplicator.index), "changed_at_once", 2)
    pages = [deduplicator.sign(f"http://a/{number}", article(number % 3).encode()) for number in range(5)]
    verdicts = [decision.verdict for decision in deduplicator.decide(pages)]
    assert (verdicts, sizes) == ([Verdict.NEW] * 3 + [Verdict.DUPLICATE] * 2, [2, 2, 1])


def test_a_page_whose_handling_fails_represents_nothing(deduplicator: Deduplicator) -> None:
    def offer(name: str) -> Decision:
        page = deduplicator.sign(f"https://example.com/{name}", article("x").encode())
        return deduplicator.submit([page], claim=True).result()[0]

    claimed = offer("a")
    assert offer("b").reason == BEING_HANDLED
    with pytest.raises(KeyError), deduplicator.handling(claimed):
        raise KeyError
    with deduplicator.handling(offer("b")):
        pass
    with pytest.raises(KeyError), deduplicator.handling(offer("b")):  # unchanged: it has no claim, and stays
        raise KeyError
    assert offer("c").duplicate_of == "https://example.com/b"


def test_closing_twice_does_not_affect_another_user_of_the_index(tmp_path: Path) -> None:
    config = Config(tokenizer="bigrams")
    first, second = Deduplicator.open(tmp_path, config), Deduplicator.open(tmp_path, config)
    first.close()
    first.close()
    assert second
    assert check(second, "http://a/1", article("x")).verdict is Verdict.NEW
    second.close()
