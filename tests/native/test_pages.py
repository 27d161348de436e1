"""A page signed with the native core is the same as one that is signed in Python, in every field."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings

from crawler_dedup import Config
from crawler_dedup.signing import native
from crawler_dedup.signing.schemes import NAMES
from crawler_dedup.signing.signer import Signer
from tests.support.data import DATA
from tests.support.examples import examples
from tests.support.hostile_pages import PAGES, HostilePage
from tests.support.indexing import run
from tests.support.native import assert_equal, saved_pages
from tests.support.soup import addresses, encodings, pages

needs_pages = pytest.mark.skipif(
    not (DATA / "sites").is_dir(), reason="no saved sites: set CRAWLER_DEDUP_DATA to their folder"
)
SIGNER = Signer(Config(tokenizer="bigrams"))
TEXTUAL = Signer(Config(tokenizer="rjieba", store_text=True, min_features=5))


def assert_signed_alike(
    signer: Signer, body: bytes, url: str = "http://example.com/a", encoding: str | None = None
) -> None:
    assert_equal(signer.sign, url, body, encoding=encoding, key=None, scope=None)


@needs_pages
def test_core_and_python_sign_all_saved_pages_alike() -> None:
    for _, body in saved_pages():
        assert_signed_alike(TEXTUAL, body)


def damaged(body: bytes, chance: random.Random) -> Iterator[bytes]:
    """Yield *body* with wrong bytes, with tags cut, and with parts left out, doubled and cut off."""
    wrong = bytearray(body)
    for _ in range(20):
        wrong[chance.randrange(len(wrong))] = chance.randrange(256)
    yield bytes(wrong)
    tags = body.split(b"<")
    yield b"<".join(tag[: chance.randrange(len(tag) + 1)] if chance.random() < 0.05 else tag for tag in tags)
    yield b"<".join(tag for tag in tags for _ in range(chance.choice([0, 1, 1, 1, 1, 1, 1, 2])))
    yield body[: chance.randrange(len(body))]


@needs_pages
@pytest.mark.parametrize("part", [0, pytest.param(None, marks=pytest.mark.slow)])
def test_core_and_python_sign_damaged_pages_alike(part: int | None) -> None:
    chance = random.Random(7)
    for number, (_, body) in enumerate(saved_pages()):
        if body and (part is None or number % 10 == part):
            for version in damaged(body, chance):
                assert_signed_alike(SIGNER, version)


@pytest.mark.parametrize("scheme", NAMES)
@needs_pages
def test_core_and_python_sign_pages_alike_with_each_scheme(scheme: str) -> None:
    signer = Signer(Config(tokenizer="bigrams", scheme=scheme))
    for number, (_, body) in enumerate(saved_pages()):
        if number % 40 == 0:
            assert_signed_alike(signer, body)


@pytest.mark.parametrize("name", sorted(native.REPLACEABLE))
@needs_pages
def test_a_core_that_lags_behind_in_a_function_signs_pages_as_python_does(name: str) -> None:
    program = f"""
    from itertools import islice
    from crawler_dedup import Config
    from crawler_dedup.signing import native
    from crawler_dedup.signing.signer import Signer
    from tests.support.native import assert_equal, saved_pages
    native.load_core().REVISIONS[{name!r}] = 0
    signer = Signer(Config(tokenizer="rjieba", store_text=True, min_features=5))
    for _, body in islice(saved_pages(), 0, None, 80):
        assert_equal(signer.sign, "http://example.com/a", body, encoding=None, key=None, scope=None)
    print({name!r} in native.describe_core())
    """
    status, output, errors = run(program)
    assert (status, output) == (0, "True\n"), errors


@pytest.mark.parametrize("page", PAGES.values(), ids=lambda page: page.name)
def test_core_and_python_sign_hostile_pages_alike(page: HostilePage) -> None:
    body = page.make()
    if len(body) < 4 << 20:
        assert_signed_alike(SIGNER, body, page.url, page.encoding)


@settings(max_examples=examples(600), suppress_health_check=list(HealthCheck))
@given(pages, addresses, encodings)
def test_core_and_python_sign_any_bytes_alike(body: bytes, url: str, encoding: str | None) -> None:
    assert_signed_alike(SIGNER, body, url, encoding)
