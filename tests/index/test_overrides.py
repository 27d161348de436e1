"""What people have said about pages holds: in all openings, on every backend, before the rules, until it is undone."""

from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup import Config, ConfigError, Deduplicator, IndexUnusable, SignedPage, Verdict
from crawler_dedup.decision import DroppedRequest
from crawler_dedup.errors import ExportUnreadable, IndexDamaged
from crawler_dedup.index import contents
from crawler_dedup.index.decider import RunContext
from crawler_dedup.index.index import Index
from crawler_dedup.index.layout import OVERRIDES
from crawler_dedup.index.overrides import Override, Overrides, Restoration, make_override
from crawler_dedup.inspection import transfer
from crawler_dedup.inspection.transfer import Export, write_export
from crawler_dedup.system.callbacks import ignore_progress
from tests.support.commandline import invoke, json_lines
from tests.support.crawling import article
from tests.support.indexing import FILING, ByDistance, open_backend
from tests.support.places import Places

MATCHER = ByDistance()
RESTORATION = Restoration("news", DroppedRequest(callback="parse_page", cb_kwargs={"deep": [{"x": None}]}))


def page(path: str, signature: int = 7) -> SignedPage:
    url = f"http://a.example{path}"
    return SignedPage(url, url, "", signature=signature)


def verdicts(pages: Index, *paths: str) -> list[str]:
    return [decision.verdict for decision in pages.offer([page(path) for path in paths], MATCHER).result()]


def override(kind: str, *paths: str) -> Override:
    return make_override(kind, [f"http://a.example{path}" for path in paths])  # type: ignore[arg-type]


def test_a_page_that_is_to_be_kept_is_no_duplicate_in_any_opening(places: Places) -> None:
    with closing(open_backend(places())) as running, closing(open_backend(places())) as other:
        assert verdicts(running, "/1", "/2", "/x/3") == ["new", "duplicate", "duplicate"]
        said = [override("keep", "/2"), override("below", "/x/")]
        assert other.add_overrides(said) == 2
        assert other.add_overrides(said) == 0
        assert verdicts(running, "/4", "/x") == ["duplicate", "duplicate"]
        (decision,) = running.offer([page("/2")], MATCHER).result()
        assert (decision.verdict, decision.reason) == (Verdict.NEW, "override: keep http://a.example/2")
        assert verdicts(running, "/x/3", "/x/y/4", "/2") == ["new", "new", "unchanged"]
        assert running.preview(page("/x/"), MATCHER).reason == "override: keep --below http://a.example/x/"
        assert running.list_overrides() == said[::-1]
        assert running.remove_overrides([*said, override("keep", "/5")]) == 2
        assert verdicts(other, "/x/5", "/6") == ["duplicate", "duplicate"]
        assert other.list_overrides() == []


def test_neither_of_two_separate_pages_represents_the_other(places: Places) -> None:
    with closing(open_backend(places())) as pages:
        pages.add_overrides([override("separate", "/2", "/1")])
        assert verdicts(pages, "/1", "/2") == ["new", "new"]
        (third,) = pages.offer([page("/3")], MATCHER).result()
        assert third.duplicate_of == "http://a.example/1"
    with closing(open_backend(places())) as pages:
        pages.forget(lambda record: record.page.url.endswith("/2"), FILING)
        pages.add_overrides([override("separate", "/3", "/4")])
        assert verdicts(pages, "/4", "/2") == ["duplicate", "new"]


def test_a_separate_page_does_not_wait_for_the_other_and_takes_no_place_of_it(places: Places) -> None:
    with closing(open_backend(places())) as pages:
        pages.add_overrides([override("separate", "/1", "/2"), override("separate", "/3", "/4")])
        run = pages.begin_run()
        claims = iter(range(1, 9))
        claiming = RunContext(run.number, next_claim=lambda: next(claims))
        (first,) = pages.offer([page("/1")], MATCHER, claiming).result()
        (second,) = pages.offer([page("/2")], MATCHER, claiming).result()
        assert (first.verdict, second.verdict) == ("new", "new")
        pages.offer([page("/3", 1 << 40)], MATCHER, RunContext(is_dry=True)).result()
        (fourth,) = pages.offer([page("/4", 1 << 40)], MATCHER).result()
        assert fourth.verdict == "new"
        assert pages.preview(page("/3", 1 << 40), MATCHER, RunContext(is_dry=True)).verdict == "unchanged"
        run.release()


def test_an_override_holds_for_a_page_whose_address_redirected_once(places: Places) -> None:
    with closing(open_backend(places())) as pages:
        for kind, old, kept, signature in (("separate", "/old", "/1", 0xFFFF), ("keep", "/x", "/2", 0xFFFF << 40)):
            pages.offer([page(kept, signature)], MATCHER, aliases={page(kept).key: page(old).key}).result()
            assert pages.preview(page(old, signature), MATCHER).verdict == "unchanged"
            pages.add_overrides([override(kind, *[old, kept][: 1 + (kind == "separate")])])
            assert [pages.offer([page(old, signature)], MATCHER).result()[0].verdict for _ in range(2)] == [
                "new",
                "unchanged",
            ]


SEGMENTS = st.lists(st.sampled_from(["", "a", "b", "ab", "a?x=/b", "#a/"]), max_size=4)
ADDRESSES = st.builds(
    lambda host, path: f"http://{host}/{'/'.join(path)}", st.sampled_from(["h", "h:1", "i"]), SEGMENTS
)


@given(prefixes=st.lists(ADDRESSES, max_size=6), url=ADDRESSES)
def test_the_pages_below_an_address_are_those_whose_addresses_begin_with_it(prefixes: list[str], url: str) -> None:
    prefixes = [prefix.partition("#")[0].rpartition("/")[0] + "/" for prefix in prefixes]
    overrides = Overrides([make_override("below", [prefix]) for prefix in prefixes])
    begins = [url.partition("#")[0].startswith(prefix) for prefix in prefixes]
    assert (overrides.find_keeping(url) is not None) == any(begins)


@pytest.mark.parametrize("value", ["http://", "a.org/", "http://a.org", "http://a.org/x", ["http://a.org/x"], 5])
def test_a_setting_that_is_no_list_of_addresses_is_refused(value: object) -> None:
    with pytest.raises(ConfigError, match="it takes a list of addresses"):
        Config(never_drop=value)  # type: ignore[arg-type]


def test_what_a_crawl_has_to_request_again_is_stored_with_an_override_until_it_ends(places: Places) -> None:
    keeping = msgspec.structs.replace(override("keep", "/1"), restorations=(RESTORATION,))
    failed = msgspec.structs.replace(keeping, restorations=(msgspec.structs.replace(RESTORATION, failures=1),))
    with closing(open_backend(places())) as pages:
        assert pages.add_overrides([override("keep", "/1"), override("keep", "/2")]) == 2
        assert pages.add_overrides([keeping]) == 0
    with closing(open_backend(places())) as pages:
        assert pages.list_overrides() == [keeping, override("keep", "/2")]
        assert pages.add_overrides([override("keep", "/1")]) == 0
        assert pages.list_overrides() == [keeping, override("keep", "/2")]
        pages.change_overrides(lambda stored: failed if stored == keeping else stored)
        assert pages.list_overrides() == [failed, override("keep", "/2")]
        assert verdicts(pages, "/0", "/1", "/3") == ["new", "new", "duplicate"]


def test_what_is_to_be_requested_again_takes_no_memory_in_the_processes_that_decide() -> None:
    keeping = msgspec.structs.replace(override("keep", "/1"), restorations=(RESTORATION,))
    assert Overrides([keeping]).find_keeping(keeping.urls[0]) == override("keep", "/1")


def test_overrides_are_exported_and_imported(tmp_path: Path) -> None:
    restored = msgspec.structs.replace(override("keep", "/2"), restorations=(RESTORATION,))
    said = [override("below", "/x/"), restored, override("separate", "/1", "/3")]
    with closing(open_backend(tmp_path / "from")) as pages:
        pages.add_overrides(said)
        transfer.export_index(pages, tmp_path / "export", ignore_progress)
    transfer.import_index(
        Export(tmp_path / "export"), tmp_path / "to", lambda _: FILING, ignore_progress, ignore_progress
    )
    with closing(open_backend(tmp_path / "to")) as pages:
        assert pages.list_overrides() == said
        write_export(tmp_path / "damaged", pages.header, [], (), [Override("below", ("http://a.example/x",))])
    with pytest.raises(ExportUnreadable, match="an override is damaged"):
        list(Export(tmp_path / "damaged").overrides())


def test_a_page_passes_if_an_override_is_damaged(places: Places) -> None:
    with closing(open_backend(places())) as pages:
        assert pages.add_overrides([override("keep", "/1")]) == 1
        pages._write(lambda tables: tables._storage.write(OVERRIDES, override("keep", "/1").name, b"damage"))
        pages._write(lambda tables: tables._storage.write(OVERRIDES, b"version", b"another"))
        for decide in (lambda: verdicts(pages, "/1"), lambda: pages.preview(page("/1"), MATCHER)):
            with pytest.raises(IndexDamaged, match="an override cannot be read"):
                decide()


def test_an_index_has_a_limited_number_of_overrides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MAX_OVERRIDES", 2)
    with closing(open_backend(tmp_path)) as pages:
        with pytest.raises(IndexUnusable, match="more than 2 overrides"):
            pages.add_overrides([override("keep", f"/{number}") for number in range(3)])
        assert pages.list_overrides() == []


def test_the_commands_say_list_and_take_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Deduplicator.open(tmp_path, Config(tokenizer="bigrams")) as opened:
        opened.check("http://a.org/1", article("x").encode())
    chosen = ("--index", tmp_path)
    for other in ("http://a.org/2", "http://a.org/3"):
        assert invoke("separate", "http://a.org/1", other, *chosen).stdout == "1 override added.\n"
    invoke("keep", "http://user:secret@a.org/4#top", "--below", "http://a.org/x/", *chosen)
    lines = json_lines("index", "overrides", tmp_path, "--json")
    assert sorted((line["kind"], *line["urls"]) for line in lines) == [
        ("below", "http://a.org/x/"),
        ("keep", "http://a.org/4"),
        ("separate", "http://a.org/1", "http://a.org/2"),
        ("separate", "http://a.org/1", "http://a.org/3"),
    ]
    assert "separate http://a.org/1 http://a.org/3" in invoke("index", "overrides", tmp_path).stdout
    assert invoke("separate", "http://a.org/2", "http://a.org/1", "--undo", *chosen).stdout == "1 override removed.\n"
    invoke("separate", "http://a.org/2", "http://a.org/1", "--undo", *chosen, status=1)


def test_a_wrong_call_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Deduplicator.open(tmp_path, Config(tokenizer="bigrams")).close()
    for arguments, error in [
        ("keep", "Name the addresses"),
        ("keep a.org/1", "not an address"),
        ("keep --below http://a.org/x", "does not end with a slash"),
        ("keep --below http://", "does not end with a slash"),
        ("separate http://a.org/1", "Two different addresses"),
        ("separate http://a.org/1 http://a.org/1#x", "Two different addresses"),
    ]:
        assert error in invoke(*arguments.split(), "--index", tmp_path, status=2).stderr
