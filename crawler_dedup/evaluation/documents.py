"""Labelled documents as the filter sees them: signed, in several processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

from xxhash import xxh3_64_hexdigest

from crawler_dedup.config import Config
from crawler_dedup.errors import DedupError
from crawler_dedup.evaluation.labelled import Document, LabelledSet, read_body
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.signer import Signer
from crawler_dedup.system.callbacks import Advance
from crawler_dedup.system.interrupts import interrupts_blocked

_OPENING_CHARS = 100
_CHUNK = 8  # documents that a process takes at a time: few, so that all processes end together

DocumentKey = tuple[str, str]
"""Name of a set, identifier in it."""
_In = TypeVar("_In")
_Out = TypeVar("_Out")


@dataclass(frozen=True)
class SignedDocument:
    """A page as the filter sees it.

    Attributes:
        page: what is kept of it.
        text: its main text.
    """

    page: SignedPage
    text: str

    @property
    def first_line(self) -> str:
        """The first line of the text, or else the title."""
        first = next((line for line in self.text.splitlines() if line.strip()), self.page.title)
        return first.strip()[:_OPENING_CHARS]


def sign_documents(
    folder: Path, sets: Sequence[LabelledSet], config: Config, jobs: int, advance: Advance
) -> dict[DocumentKey, SignedDocument]:
    """Sign every document of *sets* in *jobs* processes: (name of the set, identifier) → document.

    Args:
        advance: is told about each document that is done.

    Raises:
        DedupError: a file cannot be read, or a process died.
    """
    keys = [(labelled_set.name, identifier) for labelled_set in sets for identifier in labelled_set.documents]
    documents = [document for labelled_set in sets for document in labelled_set.documents.values()]
    return dict(zip(keys, map_in_processes(partial(_sign, folder, config), documents, jobs, advance), strict=True))


def map_in_processes(
    function: Callable[[_In], _Out], arguments: Sequence[_In], jobs: int, advance: Advance, *, chunk_size: int = _CHUNK
) -> Iterator[_Out]:
    """Call *function* with each of *arguments* in *jobs* processes; yield the results in order.

    Args:
        chunk_size: how many arguments a process takes at a time.

    Raises:
        DedupError: a process died.
    """
    # `spawn`: a forked child of a process with threads can hang, and Windows and macOS know nothing else.
    executor = ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) if jobs > 1 else None
    try:
        results: Iterable[_Out] = map(function, arguments)
        if executor is not None:
            with interrupts_blocked():
                results = executor.map(function, arguments, chunksize=chunk_size)
        for result in results:
            yield result
            advance(1)
    except BrokenProcessPool:
        raise DedupError(
            "A process that signed pages was ended from outside, perhaps for want of memory: use fewer of them (--jobs)."
        ) from None
    finally:
        if executor is not None:
            executor.shutdown(cancel_futures=True)  # after an interrupt: what has begun ends, nothing else begins


@lru_cache(maxsize=1)
def cached_signer(config: Config) -> Signer:
    """Return the signer of this process: it holds a dictionary that takes a second to load."""
    return Signer(config)


def _sign(folder: Path, config: Config, document: Document) -> SignedDocument:
    # Without an address a page stands on a host of its own, so that relative links still are links.
    url = document.url or f"http://{xxh3_64_hexdigest(document.id.encode())}.invalid/"
    page, text = cached_signer(config).sign(url, read_body(folder, document), encoding=None, key=document.id, scope="")
    return SignedDocument(page, text or "")
