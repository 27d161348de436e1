"""Signing goes on where it ended; what is damaged is named; an interrupt leaves whole shards."""

import signal
import time
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the extra batch is not installed: pip install '.[batch]'")

from crawler_dedup import Config, DedupError
from crawler_dedup.batch.collection import FORMAT, Collection, Description, write_json
from crawler_dedup.batch.formats.records import Columns
from tests.support import processes
from tests.support.collections import Page, find, sign, write_pages
from tests.support.crawling import article

PAGES = [Page(f"http://h/{number}", article(number)) for number in range(6)]


@pytest.fixture
def inputs(tmp_path: Path) -> list[Path]:
    return [write_pages(tmp_path / f"{number}.jsonl", PAGES[2 * number : 2 * number + 2]) for number in range(3)]


@pytest.mark.usefixtures("forked_workers")
def test_unchanged_inputs_are_not_signed_again(tmp_path: Path, inputs: list[Path]) -> None:
    assert sign(inputs[:2], tmp_path / "signed").signed_now == 2
    assert sign(inputs, tmp_path / "signed").signed_now == 1
    write_pages(inputs[0], PAGES[:1])
    signing = sign(inputs, tmp_path / "signed", jobs=2)
    assert (signing.inputs, signing.signed_now, signing.pages) == (3, 1, 5)


def test_inputs_no_longer_given_are_removed_from_the_collection_and_named(tmp_path: Path, inputs: list[Path]) -> None:
    assert sign(inputs, tmp_path / "signed").dropped == []
    signing = sign(inputs[1:], tmp_path / "signed")
    assert (signing.dropped, signing.pages) == ([str(inputs[0])], 4)
    assert sign(inputs, tmp_path / "signed").signed_now == 0


@pytest.mark.usefixtures("forked_workers")
def test_several_processes_write_the_same_as_one(tmp_path: Path, inputs: list[Path]) -> None:
    sign(inputs, tmp_path / "one")
    sign(inputs, tmp_path / "several", jobs=2)
    by_one_process, several = (Collection.open(tmp_path / name).shards for name in ("one", "several"))
    assert [shard.data.read_bytes() for shard in by_one_process] == [shard.data.read_bytes() for shard in several]


@pytest.mark.parametrize("place", [10, 2_000, -10])
def test_a_damaged_shard_is_reported_and_signed_again(tmp_path: Path, inputs: list[Path], place: int) -> None:
    sign(inputs, tmp_path / "signed")
    shard = Collection.open(tmp_path / "signed").shards[1]
    content = bytearray(shard.data.read_bytes())
    content[place] ^= 1
    shard.data.write_bytes(content)
    with pytest.raises(DedupError) as refused:
        find(tmp_path / "signed", tmp_path / "decisions")
    assert str(refused.value).endswith(f"\n  damaged: {shard.data}")
    assert not (tmp_path / "decisions").exists()
    signing = sign(inputs, tmp_path / "signed")
    assert (signing.signed_now, signing.damaged) == (1, [shard.data])
    assert find(tmp_path / "signed", tmp_path / "decisions").pages == 6


def test_an_incomplete_collection_is_refused(tmp_path: Path, inputs: list[Path]) -> None:
    sign(inputs, tmp_path / "signed")
    shards = Collection.open(tmp_path / "signed").shards
    shards[0].receipt.unlink()
    shards[2].data.unlink()
    with pytest.raises(DedupError, match=f"not signed yet: {inputs[0]}\n  damaged: {shards[2].data}"):
        find(tmp_path / "signed", tmp_path / "decisions")


def test_a_collection_with_another_configuration_is_refused(tmp_path: Path, inputs: list[Path]) -> None:
    sign(inputs, tmp_path / "signed")
    with pytest.raises(DedupError, match="min features"):
        sign(inputs, tmp_path / "signed", Config(tokenizer="bigrams", min_features=30))
    with pytest.raises(DedupError, match="scope"):
        sign(inputs, tmp_path / "signed", scope="domain")
    with pytest.raises(DedupError, match="column id"):
        sign(inputs, tmp_path / "signed", columns=Columns(id="id"))
    with pytest.raises(DedupError, match="holds no signed pages"):
        find(tmp_path, tmp_path / "decisions")


def test_a_collection_of_another_version_is_refused_by_its_format_whatever_else_it_has(
    tmp_path: Path, inputs: list[Path]
) -> None:
    sign(inputs, tmp_path / "signed")
    write_json(tmp_path / "signed" / "collection.json", Description(FORMAT - 1))
    with pytest.raises(DedupError, match=f"signed has format {FORMAT - 1}, this version has {FORMAT}: run"):
        find(tmp_path / "signed", tmp_path / "decisions")


def test_a_call_that_signs_no_page_does_not_decide_how_others_sign(tmp_path: Path) -> None:
    source, signed = tmp_path / "texts.jsonl", tmp_path / "signed"
    source.write_text("".join(f'{{"url": "http://h/{n}", "text": "Text {n}."}}\n' for n in range(95)), encoding="utf-8")
    with pytest.raises(DedupError) as refused:
        sign([source], signed)
    assert str(refused.value).splitlines()[1:] == [
        f"  no html: 95 ({source}, line 1: it has no html, only url, text; name the right one with --html or --text)"
    ]
    assert not list(signed.iterdir())
    assert sign([source], signed, columns=Columns(text="text")).pages == 95
    with pytest.raises(DedupError) as mismatch:
        sign([source], signed)
    assert str(mismatch.value) == (
        f"The pages in {signed} were signed with other settings:\n  column text: made with 'text', now ''\n"
        "Name another directory with -o, or delete this one."
    )


def test_a_call_that_was_killed_before_the_first_page_does_not_decide_how_others_sign(
    tmp_path: Path, inputs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as killed:
        killed.setattr("crawler_dedup.batch.sign.map_in_processes", lambda *_, **__: iter(()))
        killed.setattr(Collection, "discard_without_pages", lambda _: False)
        with pytest.raises(DedupError):
            sign(inputs, tmp_path / "signed")
    assert (tmp_path / "signed" / "collection.json").exists()
    assert sign(inputs, tmp_path / "signed", Config(tokenizer="bigrams", min_features=30)).pages == 6


@pytest.mark.parametrize(("jobs", "ending"), [(1, "interrupt"), (2, "interrupt"), (2, "kill")])
def test_an_interrupted_call_leaves_whole_shards_and_can_be_continued(tmp_path: Path, jobs: int, ending: str) -> None:
    small = write_pages(tmp_path / "a.jsonl", PAGES)
    large = write_pages(tmp_path / "b.jsonl", [Page(f"http://h/{number}", PAGES[0].html) for number in range(5_000)])
    signed = tmp_path / "signed"
    arguments = ["batch", "sign", str(small), str(large), "-o", str(signed), "-j", str(jobs)]
    process = processes.start(["-m", "crawler_dedup", *arguments, "-s", "DEDUP_TOKENIZER=bigrams"])
    deadline = time.monotonic() + 60
    while not (list(signed.glob("a.jsonl-*.receipt.json")) and list(signed.glob("b.jsonl-*.part"))):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGINT if ending == "interrupt" else signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    if ending == "interrupt":
        assert (process.returncode, errors.strip()) == (130, "Interrupted.")
        assert not list(signed.glob("*.part"))
    with pytest.raises(DedupError, match=rf"not complete(.|\n)*not signed yet: {large}\Z"):
        find(signed, tmp_path / "decisions")
    write_pages(large, PAGES[:1])
    signing = sign([small, large], signed)
    assert (signing.signed_now, signing.pages) == (1, 7)
