"""Sign labelled documents as the filter does, in several processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from crawler_dedup.config import Config
from crawler_dedup.evaluation.labelled import Document, LabelledSet, read_body
from crawler_dedup.signedpage import SignedPage
from crawler_dedup.signing.signer import cached_signer
from crawler_dedup.system.callbacks import Advance
from crawler_dedup.system.processes import map_in_processes
from crawler_dedup.urls import stand_in_address

_OPENING_CHARS = 100

DocumentKey = tuple[str, str]
"""(name of a set, identifier of a document in it)."""


@dataclass(frozen=True)
class SignedDocument:
    """A labelled page, signed.

    Attributes:
        page: the signed page.
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
    """Sign every document of *sets* in *jobs* processes.

    Args:
        advance: called with the number of documents that were done since the last call.

    Raises:
        DedupError: a file cannot be read, or a process died.
    """
    keys = [(labelled_set.name, identifier) for labelled_set in sets for identifier in labelled_set.documents]
    documents = [document for labelled_set in sets for document in labelled_set.documents.values()]
    return dict(zip(keys, map_in_processes(partial(_sign, folder, config), documents, jobs, advance), strict=True))


def _sign(folder: Path, config: Config, document: Document) -> SignedDocument:
    url = document.url or stand_in_address(document.id)
    page, text = cached_signer(config).sign(url, read_body(folder, document), encoding=None, key=document.id, scope="")
    return SignedDocument(page, text or "")
