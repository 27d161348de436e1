"""The way of a page without Scrapy: sign, look up, decide, file."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from os import PathLike
from pathlib import Path
from types import TracebackType

import msgspec
import numpy as np
from lxml.html import HtmlElement
from numpy.typing import NDArray

from crawler_dedup import rules
from crawler_dedup.config import Config
from crawler_dedup.decision import Decision, Match
from crawler_dedup.hamming import SignatureMatch
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing import Signer
from crawler_dedup.sites import Sites
from crawler_dedup.store import Store


class _Judge:
    """What scheme and rules say, as the index asks for it."""

    def __init__(self, signer: Signer) -> None:
        self._scheme = signer.scheme
        self._config = signer.config
        self._sites = Sites()

    def learn(self, page: SignedPage) -> None:
        self._sites.learn(page)

    def to_keep(self, page: SignedPage) -> SignedPage:
        return page if rules.links_tell(page) else msgspec.structs.replace(page, links=b"")

    def keys(self, signature: int) -> list[int]:
        return self._scheme.keys(signature)

    def probes(self, signature: int) -> list[int]:
        return self._scheme.probes(signature, self._config.max_distance)

    def near(self, signature: int, filed: NDArray[np.uint64]) -> list[SignatureMatch]:
        return self._scheme.near(signature, filed, self._config.max_distance)

    def choose(self, new: SignedPage, kept: Iterable[SignedPage]) -> tuple[SignedPage, Match] | None:
        site = self._sites.of(new)
        return rules.first_match(rules.Pair(new, one, self._config, site, self._sites.of(one)) for one in kept)


class Deduplicator:
    """Tells for each page whether a kept one stands for it, and keeps those for which none does.

    Safe to use from several threads, and from several processes on one directory.
    """

    def __init__(self, store: Store, signer: Signer) -> None:
        """Use :meth:`open`."""
        self._store = store
        self._signer = signer
        self._judge = _Judge(signer)
        self._closed = False
        self.run = secrets.randbits(32)
        """Number of this run, which stands in the records of the pages that it files."""

    @classmethod
    def open(cls, directory: str | PathLike[str], config: Config | None = None) -> Deduplicator:
        """Open or create the index in *directory*.

        Raises:
            IndexMismatch: it was made with another configuration.
            IndexUnusable: it cannot be opened.
        """
        config = config or Config()
        signer = Signer(config, cache_dir=Path(directory))
        store = Store.open(Path(directory), signer.spec, signer.libraries, map_size=config.map_size, fresh=config.fresh)
        return cls(store, signer)

    @property
    def scheme(self) -> str:
        """The name of the signature scheme."""
        return self._signer.scheme.name

    @property
    def quick_bytes(self) -> int:
        """Pages up to this size are signed in a few milliseconds once the dictionaries are loaded."""
        return self._signer.quick_bytes

    def load(self) -> None:
        """Load dictionaries now instead of with the first page. Takes up to a second."""
        self._signer.load()

    def sign(
        self, url: str, body: bytes, *, encoding: str | None = None, key: str | None = None, scope: str = ""
    ) -> SignedPage:
        """Sign a page. Pure: the index is not looked at.

        Args:
            body: HTML, as it came.
            encoding: what the transport says; ``None``: byte-order mark, ``<meta>``, then detection.
            key: identity of the page; ``None``: its URL.
            scope: pages are compared with those of the same scope.
        """
        return self.sign_with_text(url, body, encoding=encoding, key=key, scope=scope)[0]

    def sign_with_text(
        self,
        url: str,
        body: bytes,
        tree: HtmlElement | None = None,
        *,
        encoding: str | None = None,
        key: str | None = None,
        scope: str = "",
    ) -> tuple[SignedPage, str | None]:
        """As :meth:`sign`, with the main text (``None`` if extraction was not reached); *tree* saves the parsing."""
        return self._signer.sign(url, body, tree, encoding=encoding, key=key or url, scope=scope)

    def check(
        self, url: str, body: bytes, *, encoding: str | None = None, key: str | None = None, scope: str = ""
    ) -> Decision:
        """Sign a page, decide and file it; check and insert are one atomic step. Arguments as for :meth:`sign`."""
        return self.decide([self.sign(url, body, encoding=encoding, key=key, scope=scope)])[0]

    def decide(self, batch: Sequence[SignedPage]) -> list[Decision]:
        """Decide and file *batch* in order, also against each other. Returns when that is on disk."""
        return self.submit(batch).result()

    def submit(self, batch: Sequence[SignedPage]) -> Future[list[Decision]]:
        """As :meth:`decide`, without waiting. Cancelled before its transaction began, nothing is filed."""
        return self._store.offer(batch, self._judge, self.run)

    def compare(self, new: SignedPage, kept: SignedPage) -> Match | None:
        """The match if *kept* covers *new*, by the rules of the crawl between two pages whose sites are not known."""
        return rules.compare(rules.Pair(new, kept, self._signer.config))

    def settle(self, decision: Decision) -> bool:
        """The page was handled: it may stand for others. ``False`` if it is not recorded."""
        return self._store.settle(decision.scope, decision.key, self._judge).result()

    def release(self, decision: Decision) -> bool:
        """The page was not handled: forget it, so that it stands for nothing. ``False`` if it is not recorded."""
        return self._store.release(decision.scope, decision.key, self._judge).result()

    def __len__(self) -> int:
        """How many pages are kept."""
        return len(self._store)

    def __bool__(self) -> bool:
        """True: an empty index is an index."""
        return True

    def close(self) -> None:
        """Finish what waits and close the index. A second time nothing happens."""
        if not self._closed:
            self._closed = True
            self._store.close()

    def __enter__(self) -> Deduplicator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
