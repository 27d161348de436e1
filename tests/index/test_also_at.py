"""A kept page has the addresses of its duplicates: in all openings, on every backend, and after an export."""

from contextlib import closing
from pathlib import Path

from crawler_dedup import Decision, SignedPage
from crawler_dedup.index.decider import RunContext
from crawler_dedup.index.index import Index
from crawler_dedup.index.layout import RECORDS
from crawler_dedup.index.limits import MAX_ADDRESS_CHARS, MAX_ALSO_AT
from crawler_dedup.index.location import ServerAddress
from crawler_dedup.index.transaction import Transaction, number_name
from tests.support.indexing import FILING, ByDistance, open_backend
from tests.support.places import Places

MATCHER = ByDistance()


def opened(place: Path | ServerAddress) -> closing[Index]:
    return closing(open_backend(place))


def offer(pages: Index, path: str, signature: int = 7, context: RunContext = RunContext()) -> Decision:
    url = f"http://user:secret@a.example/{path}"
    (decision,) = pages.offer([SignedPage(url, url, "", signature=signature)], MATCHER, context).result()
    return decision


def addresses(*paths: str) -> tuple[str, ...]:
    return tuple(f"http://a.example/{path}" for path in paths)


def test_an_unchanged_page_has_the_addresses_of_its_duplicates(places: Places) -> None:
    with opened(places()) as pages:
        assert offer(pages, "1").also_at == ()
        for path in ("2", "3", "2"):
            assert offer(pages, path).verdict == "duplicate"
        offer(pages, "passes", context=RunContext(is_dry=True))
    with opened(places()) as pages:
        assert offer(pages, "1").also_at == addresses("2", "3")
        changed = offer(pages, "1", signature=7 << 40)
        assert (changed.verdict, changed.also_at) == ("changed", addresses("2", "3"))
        assert offer(pages, "1", signature=7 << 40).also_at == ()


def test_a_merged_record_has_the_addresses(places: Places) -> None:
    with opened(places()) as pages:
        offer(pages, "1")
        offer(pages, "2")
    with opened(places()) as pages, opened(places("other")) as other:
        other.merge(list(pages.records()), FILING)
        assert offer(other, "1").also_at == addresses("2")


def test_the_addresses_of_a_page_are_bounded(places: Places) -> None:
    with opened(places()) as pages:
        for path in ("1", "x" * MAX_ADDRESS_CHARS, *map(str, range(2, MAX_ALSO_AT + 10))):
            offer(pages, path)
    with opened(places()) as pages:
        assert offer(pages, "1").also_at == addresses(*map(str, range(2, MAX_ALSO_AT + 2)))


def test_addresses_are_stored_with_the_next_change(places: Places) -> None:
    place = places()
    with opened(place) as pages, opened(place) as other:
        for path in ("1", "2", "3"):
            offer(pages, path)
        pages._write(lambda _: None)
        assert offer(other, "1").also_at == addresses("2", "3")


def test_a_damaged_record_takes_no_addresses_from_other_pages(places: Places) -> None:
    def damage(txn: Transaction) -> None:
        (number,) = (number for number, record in txn.items() if record and record.page.url.endswith("/0/1"))
        txn._storage.write(RECORDS, number_name(number), b"damaged")

    with opened(places()) as pages:
        for path, signature in (("0/1", 7), ("1/1", 7 << 40), ("0/2", 7), ("1/2", 7 << 40)):
            offer(pages, path, signature)
        pages._write(damage)
    with opened(places()) as pages:
        assert offer(pages, "1/1", 7 << 40).also_at == addresses("1/2")
