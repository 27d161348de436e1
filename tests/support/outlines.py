"""Outlines of blocks without a page."""

from __future__ import annotations

from collections.abc import Sequence

from crawler_dedup.signing.blocks import PageBlocks, pack_blocks
from crawler_dedup.signing.maintext import MainBlocks
from crawler_dedup.signing.outline import Outline
from crawler_dedup.signing.textblocks import Block


def make_outline(blocks: Sequence[Block]) -> Outline:
    """Return an outline of *blocks* whose elements are siblings."""
    return Outline([*blocks], [0] * (1 + max((block.group for block in blocks), default=0)))


def pack(
    blocks: Sequence[Block], main: Sequence[Block] = (), title: str = "", embedded: dict[str, bool] | None = None
) -> PageBlocks:
    """Pack *blocks*, of which the blocks in *main* are the main text."""
    page, chosen = make_outline(blocks), MainBlocks([*main], 0, 0)
    return pack_blocks(page, chosen, title, "", embedded)
