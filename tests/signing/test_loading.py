from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from crawler_dedup import Config, SignedPage
from crawler_dedup.signing import segmentation
from crawler_dedup.signing.loading import NotLoaded, Resource
from crawler_dedup.signing.segmentation import CutHan, character_bigrams
from crawler_dedup.signing.signer import Signer
from tests.support import processes
from tests.support.prose import html, prose

ENGLISH, CHINESE = html(prose(0)), html(prose(0, chinese=True))


def sign(signer: Signer, body: bytes) -> SignedPage:
    return signer.sign("http://a/", body, encoding="utf-8", key="http://a/", scope="")[0]


def test_threads_that_need_a_resource_at_the_same_time_load_it_once() -> None:
    loads, all_here = [], threading.Barrier(8)

    def load() -> str:
        loads.append(1)
        return "loaded"

    resource = Resource("A table", load)

    def use(_: int) -> str:
        all_here.wait()
        return resource.get(load=True)

    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(use, range(8))] == ["loaded"] * 8
    assert loads == [1]


def test_loading_that_failed_is_repeated_by_the_next_use() -> None:
    failures = [MemoryError()]

    def load() -> str:
        if failures:
            raise failures.pop()
        return "loaded"

    resource = Resource("A table", load)
    with pytest.raises(MemoryError):
        resource.load()
    assert not resource.is_loaded
    assert resource.get(load=True) == "loaded"


FORK = """
import os, threading
from crawler_dedup.signing.loading import Resource

has_begun, go_on = threading.Event(), threading.Event()

def load():
    if threading.current_thread() is not threading.main_thread():
        has_begun.set()
        go_on.wait()
    return "loaded"

resource = Resource("A table", load)
threading.Thread(target=resource.load, daemon=True).start()
has_begun.wait()
child = os.fork()
if not child:
    print(resource.load(), flush=True)
    os._exit(0)
os.waitpid(child, 0)
go_on.set()
"""


@pytest.mark.skipif(not processes.FORKS, reason="no fork")
def test_a_child_that_is_forked_while_a_thread_loads_does_not_wait_for_that_thread() -> None:
    env = {"PYTHONPATH": str(processes.ROOT), "PYTHONWARNINGS": "ignore"}
    done = processes.run(["-c", FORK], env=env, timeout=30)
    assert done.stdout == "loaded\n", done.stderr


@pytest.fixture
def dictionary(monkeypatch: pytest.MonkeyPatch) -> Resource[CutHan]:
    """Return a dictionary that is not loaded yet, in the place of jieba's."""
    cutter: Resource[CutHan] = Resource(
        "The dictionary", lambda: lambda runs: [pair for run in runs for pair in character_bigrams(run)]
    )
    monkeypatch.setattr("crawler_dedup.signing.signer.han_cutter", lambda _: cutter)
    return cutter


def test_a_signer_loads_the_dictionary_with_the_first_chinese_text(dictionary: Resource[CutHan]) -> None:
    signer = Signer(Config(tokenizer="jieba"))
    assert not sign(signer, ENGLISH).unsigned
    assert not dictionary.is_loaded
    assert not sign(signer, CHINESE).unsigned
    assert dictionary.is_loaded


def test_a_signer_that_must_not_wait_names_the_resources_to_be_loaded(dictionary: Resource[CutHan]) -> None:
    signer = Signer(Config(tokenizer="jieba"), load_on_demand=False)
    assert not sign(signer, ENGLISH).unsigned
    with pytest.raises(NotLoaded) as raised:
        sign(signer, CHINESE)
    assert raised.value.resource is dictionary
    assert not dictionary.is_loaded
    dictionary.load()
    assert sign(signer, CHINESE) == sign(Signer(Config(tokenizer="bigrams")), CHINESE)


def test_a_scheme_is_loaded_before_the_first_text_that_it_signs() -> None:
    signer = Signer(Config(tokenizer="bigrams", scheme="pinyin"), load_on_demand=False)
    with pytest.raises(NotLoaded, match="What the scheme pinyin needs is not loaded") as raised:
        sign(signer, ENGLISH)
    raised.value.resource.load()
    assert not sign(signer, ENGLISH).unsigned


def test_a_signer_without_a_dictionary_never_waits() -> None:
    signer = Signer(Config(tokenizer="bigrams"), load_on_demand=False)
    assert not sign(signer, CHINESE).unsigned


def test_all_signers_of_a_process_share_a_dictionary() -> None:
    assert segmentation.han_cutter("jieba") is segmentation.han_cutter("jieba")
