"""Which pages ``crawler-dedup forget`` selects, and which it leaves in an index."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawler_dedup import SignedPage
from crawler_dedup.cli.terminal import quantity
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.index.records import Record
from tests.support.commandline import invoke, printed_text
from tests.support.indexcommands import PAGES, is_sound, kept
from tests.support.indexing import FILING


@pytest.mark.parametrize(
    ("options", "forgotten"),
    [
        (["--url", "http://a.org/1"], {"http://a.org/1"}),
        (["--url", "http://a.org/"], set()),
        (["--host", "a.org"], {"http://a.org/1", "http://a.org/2"}),
        (["--host", "B.org"], {"http://b.org/1", "https://b.org:8080/2"}),
        (["--host", "org"], set()),
        (["--older-than", "90d"], {"http://a.org/1", "http://b.org/1"}),
        (["--older-than", "12h"], {"http://a.org/1", "http://a.org/2", "http://b.org/1"}),
        (["--older-than", "20w"], set()),
        (["--older-than", "30s"], set(PAGES)),
        (["--run", "00000001"], {"http://a.org/1", "https://b.org:8080/2"}),
        (["--run", "abc", "--host", "b.org"], {"http://b.org/1"}),
        (["--older-than", "90d", "--host", "a.org"], {"http://a.org/1"}),
        (["--older-than", "90d", "--host", "a.org", "--run", "abc"], set()),
    ],
)
def test_forgotten_pages_are_new_again_and_the_others_are_not(
    pages: Path, options: list[str], forgotten: set[str]
) -> None:
    unknown = 1 if "--url" in options else 0
    first = invoke("forget", pages, *options, status=0 if forgotten else unknown)
    assert printed_text(first).startswith(f"{quantity(len(forgotten), 'page')} forgotten.")
    assert kept(pages) == set(PAGES) - forgotten
    assert is_sound(pages)
    assert printed_text(invoke("forget", pages, *options, status=unknown)).startswith("0 pages forgotten.")


def test_a_host_can_be_forgotten_beside_page_keys_that_are_not_addresses(pages: Path) -> None:
    store = DirectoryIndex.attach(pages)
    broken = [SignedPage(url, url, "", signature=number) for number, url in enumerate(["http://[broken", "", "x y"])]
    store.merge([Record(page, settled=1) for page in broken], FILING)
    store.close()
    assert printed_text(invoke("forget", pages, "--host", "a.org")).startswith("2 pages forgotten.")


def test_an_invalid_call_forgets_nothing(pages: Path) -> None:
    for options, sentence in [
        ([], "Say what to forget: --url, --host, --older-than, --last or --run."),
        (["--older-than", "90"], "'90' is not a duration"),
        (["--older-than", "d"], "'d' is not a duration"),
        (["--older-than", "-1d"], "'-1d' is not a duration"),
        (["--older-than", "ten days"], "'ten days' is not a duration"),
        (["--run", "xyz"], "'xyz' is not the number of a run"),
    ]:
        assert sentence in printed_text(invoke("forget", pages, *options, status=2))
        assert kept(pages) == set(PAGES)
