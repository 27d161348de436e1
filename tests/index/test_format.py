"""The format of records, and their numbers."""

import re

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup import SignedPage
from crawler_dedup.index.limits import MAX_ALIASES
from crawler_dedup.index.records import Record, decode, encode, shorten_key

# Encoding

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=300) | st.sampled_from(["\0", "x" * (1 << 20)])
_TIMES = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(0, 2_000_000_000)


@given(
    st.tuples(_TEXTS, _TEXTS, _TEXTS, _TEXTS),
    st.tuples(_TIMES, _TIMES, _TIMES),
    st.lists(st.binary(min_size=12, max_size=12), max_size=MAX_ALIASES),
)
def test_an_encoded_record_is_decoded_to_the_same(
    texts: tuple[str, str, str, str], times: tuple[int, int, int], aliases: list[bytes]
) -> None:
    key, url, scope, title = texts
    signed = SignedPage(key, f"http://a.example/{len(url)}", scope, title, b"digest", 5, signature=1 << 63)
    record = Record(signed, 1 << 31, 70_000, *times, aliases=tuple(aliases))
    expected = msgspec.structs.replace(record, page=msgspec.structs.replace(signed, key=shorten_key(key)))
    assert decode(encode(record)) == expected


def test_the_key_of_a_kept_page_is_a_hash_of_its_key_and_stays_the_same() -> None:
    digits = "0123456789abcdef01234567"
    keys = [digits, digits.upper(), f" {digits[1:]}", digits[:-1], "http://a.example/", "", "\ud800"]
    shortened = [shorten_key(key) for key in keys]
    assert len({*shortened}) == len(keys)
    assert all(re.fullmatch("[0-9a-f]{24}", key) for key in shortened)
    assert [shorten_key(key) for key in shortened] == shortened
