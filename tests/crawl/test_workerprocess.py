"""The line about a process beside the crawl that has died."""

from __future__ import annotations

import signal

import pytest

from crawler_dedup.crawl.workerprocess import TRIED_AGAIN, UNCHECKED, describe_death


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (0, "has ended with exit status 0"),
        (-signal.SIGBUS, "was ended by SIGBUS"),
        (-50, "was ended by signal 50"),
        (None, "no longer answers"),
    ],
)
def test_it_names_the_process_and_how_it_ended(status: int | None, cause: str) -> None:
    assert describe_death(7, status, []) == f"The worker process 7 {cause}; pages that it had: none"


def test_many_pages_are_named_by_the_first_of_each_outcome() -> None:
    pages = [(f"http://h/{number}", UNCHECKED if number == 2 else TRIED_AGAIN) for number in range(4)]
    line = describe_death(7, -signal.SIGKILL, pages)
    assert line.startswith("The worker process 7 was ended by SIGKILL, probably by the out-of-memory killer")
    assert line.endswith("; pages that it had: http://h/0 and 2 more (tried again), http://h/2 (passes unchecked)")
