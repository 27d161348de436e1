from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup.counting import HeavyHitters


def counting(capacity: int) -> HeavyHitters[object, list[object]]:
    return HeavyHitters(capacity, list)


@given(st.lists(st.integers(0, 12)), st.integers(1, 6))
def test_no_key_is_counted_more_often_than_it_came(keys: list[int], capacity: int) -> None:
    hitters = counting(capacity)
    for key in keys:
        hitters.add(key)
    truth = Counter(keys)
    counts = {key: count for key, count, _ in hitters.top(100)}
    assert len(counts) == len(hitters) == min(capacity, len(truth))
    for key, count in truth.items():
        assert count - len(keys) / capacity <= counts.get(key, 0) <= count
        assert key in counts or count <= len(keys) / capacity


@given(st.lists(st.integers(0, 5)))
def test_counts_are_exact_and_ordered_as_long_as_there_are_enough_counters(keys: list[int]) -> None:
    hitters = counting(6)
    for key in keys:
        hitters.add(key)
    expected = sorted(Counter(keys).items(), key=lambda item: (-item[1], item[0]))
    assert [(key, count) for key, count, _ in hitters.top(6)] == expected
    assert [(key, count) for key, count, _ in hitters.top(2)] == expected[:2]


@given(st.lists(st.integers(0, 9)), st.integers(1, 5))
def test_a_value_belongs_to_its_key_and_is_discarded_with_it(keys: list[int], capacity: int) -> None:
    hitters = counting(capacity)
    for key in keys:
        hitters.add(key).append(key)
        assert hitters.get(key) is not None
    for hitter, count, value in hitters.top(10):
        assert value == [hitter] * count
        assert hitters.get(hitter) is value
    assert hitters.get("none") is None


def test_the_smallest_counter_is_replaced() -> None:
    hitters = counting(2)
    for key in (1, 1, 2, 3):
        hitters.add(key)
    assert {key for key, _, _ in hitters.top(2)} == {1, 3}
