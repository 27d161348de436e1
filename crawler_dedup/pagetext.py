"""The own text of a page, and what its maker needs (:mod:`crawler_dedup.owntext`)."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

Format = Literal["text", "markdown"]


class OwnText(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """The text of a page without what its site repeats.

    Attributes:
        text: the text, in the format that was asked for.
        site_known: whether enough pages of the site were handled to know what it repeats; if not, nothing was left out.
        snapshot: number of the snapshot of the site that was used (:attr:`crawler_dedup.Decision.snapshot`); 0: none.
        removed: share of the main text that was left out because the site repeats it, 0 to 1.
        removed_blocks: the blocks that were left out, if they were asked for.

    >>> with Deduplicator.open("index") as deduplicator:
    ...     own = deduplicator.own_text("https://example.com/", b"<nav>Home</nav><h1>Rain</h1><p>It rains again.")
    >>> own
    OwnText(text='Rain\\nIt rains again.', site_known=False, snapshot=0, removed=0.0, removed_blocks=())
    """

    text: str = ""
    site_known: bool = False
    snapshot: int = 0
    removed: float = 0.0
    removed_blocks: tuple[str, ...] = ()


class RepeatedBlocks(msgspec.Struct, frozen=True, array_like=True):
    """The blocks that a site repeats, by a snapshot of its counts.

    Attributes:
        snapshot: number of the snapshot; 0: nothing is known.
        hashes: 4 bytes for each block.
    """

    snapshot: int = 0
    hashes: bytes = b""


class OwnTextJob(msgspec.Struct, array_like=True, frozen=True, tag=True):
    """Make the own text of a page. Raises :class:`ValueError` for a format that does not exist.

    Attributes:
        encoding: of the page (:meth:`Signer.sign`).
        repeated: what its site repeats.
        format: the format of the text.
        with_removed: whether the blocks that are left out are returned, too.
    """

    encoding: str | None = None
    repeated: RepeatedBlocks = RepeatedBlocks()
    format: Format = "text"
    with_removed: bool = False

    def __post_init__(self) -> None:
        if self.format not in get_args(Format):
            allowed = " or ".join(map(repr, get_args(Format)))
            raise ValueError(f"format = {self.format!r} is not allowed; it takes {allowed}.")
