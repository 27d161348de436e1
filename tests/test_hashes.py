from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup.hashes import pack_ascending, unpack_ascending
from crawler_dedup.signedpage import is_packed

_LISTS = st.lists(st.integers(0, (1 << 32) - 1) | st.sampled_from([0, (1 << 32) - 1]), max_size=600).map(sorted)


@given(_LISTS)
def test_packed_numbers_are_unpacked_to_the_same(numbers: list[int]) -> None:
    packed = pack_ascending(np.array(numbers, dtype=np.uint32))
    assert is_packed(packed)
    assert unpack_ascending(packed).tolist() == numbers


@given(_LISTS, st.data())
def test_what_is_accepted_as_packed_can_be_unpacked(numbers: list[int], data: st.DataObject) -> None:
    damaged = bytearray(pack_ascending(np.array(numbers, dtype=np.uint32)))
    damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
    damaged = damaged[: data.draw(st.integers(len(damaged) - 1, len(damaged)))]
    if damaged and is_packed(bytes(damaged)):
        assert len(unpack_ascending(bytes(damaged))) == int.from_bytes(damaged[:2], "little")


def test_packed_numbers_take_fewer_bytes() -> None:
    numbers = np.arange(64, dtype=np.uint32) * np.uint32(67_000_000)
    assert len(pack_ascending(numbers)) <= numbers.nbytes - 30
