"""Schemes that say which passages two texts share: their values are pieces of a text, and where these begin."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from crawler_dedup.hamming import Numbers
from crawler_dedup.signing.schemes.scheme import ValueScheme

Positions = NDArray[np.int64]


class Pieces(NamedTuple):
    """Pieces of a text: at which of its letters each begins (int64), and by what it is compared (uint64)."""

    starts: Positions
    numbers: Numbers


class PieceIndex(Protocol):
    """The pieces of one text, prepared to be compared with those of many pages."""

    def partners(self, theirs: Numbers) -> tuple[Positions, Positions]:
        """Return which of the text's numbers match which of *theirs*, ascending and distinct: places in both.

        Of bounded length: no more than a few times as many as *theirs*, or some 100,000.
        """


class PassageScheme(ValueScheme):
    """A scheme by which ``crawler-dedup trace`` finds the passages that a text shares with kept pages.

    What a letter is each scheme says itself; positions and lengths are counted in them.
    """

    least_keys: ClassVar[int] = 1
    """In so many of the buckets of a text's pieces a page must stand to be compared with it."""

    @property
    @abstractmethod
    def piece_letters(self) -> int:
        """Letters of a piece."""

    @property
    @abstractmethod
    def reach(self) -> int:
        """Two common pieces that begin so many letters apart at most, in the text as in the page, are one passage."""

    @abstractmethod
    def find_letters(self, plain: str) -> Positions:
        """Find where in a normalised text each of its letters comes from, ascending: shape (letters,)."""

    @abstractmethod
    def pieces_of_text(self, plain: str) -> Pieces:
        """Return the pieces of a normalised text that is traced; none if it is shorter than a piece."""

    @abstractmethod
    def pieces_of_page(self, value: bytes) -> Pieces:
        """Return the pieces that are kept of a page with *value*. Raises :class:`ValueError` if it is damaged or empty."""

    @abstractmethod
    def keys_of_pieces(self, numbers: Numbers) -> Numbers:
        """Return the buckets in which pages stand that share pieces with these *numbers*; one may come twice."""

    @abstractmethod
    def index_pieces(self, numbers: Numbers) -> PieceIndex:
        """Prepare the *numbers* of a text's pieces, ascending and distinct."""
