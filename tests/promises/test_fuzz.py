"""From any bytes to a verdict: soup of tags, and articles that were cut, repeated and damaged."""

from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawler_dedup import Config, Decision, Deduplicator, Verdict
from tests.support.examples import examples
from tests.support.soup import addresses, any_text, encodings, pages


@pytest.fixture(scope="module", params=["paragraphs", "trafilatura"])
def filtered(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deduplicator]:
    config = Config(tokenizer="bigrams", extractor=request.param)
    with Deduplicator.open(tmp_path_factory.mktemp("fuzz"), config) as opened:
        yield opened


_numbers = count()


@pytest.mark.parametrize("count", [examples(150), pytest.param(10_000, marks=pytest.mark.slow)])
def test_any_input_gets_a_decision(filtered: Deduplicator, count: int) -> None:
    """It always has the same signature, and is not a duplicate of itself."""

    @settings(max_examples=count, suppress_health_check=list(HealthCheck))
    @given(pages, addresses, encodings, st.none() | any_text, any_text)
    def check(body: bytes, url: str, encoding: str | None, key: str | None, scope: str) -> None:
        scope = f"{next(_numbers)} {scope}"  # of no other example: nothing else can represent the page
        first, second = (filtered.check(url, body, encoding=encoding, key=key, scope=scope) for _ in range(2))
        assert type(first) is type(second) is Decision
        assert list(map(shown, (first.url, first.scope, first.key))) == list(map(shown, (url, scope, key or url)))
        assert first.verdict in (Verdict.NEW, Verdict.UNCHECKED)
        assert second.verdict is (Verdict.UNCHANGED if first.verdict is Verdict.NEW else Verdict.UNCHECKED)
        assert (first.verdict is Verdict.UNCHECKED) == bool(first.reason)
        signed = [filtered.sign(url, body, encoding=encoding, key=key, scope=scope) for _ in range(2)]
        assert signed[0] == signed[1]
        assert isinstance(str(first), str)

    check()


def shown(identifier: str) -> str:
    return identifier.encode("utf-8", "backslashreplace").decode()
