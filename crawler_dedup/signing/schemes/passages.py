"""Schemes that find the passages two texts share: a value holds pieces of a text and the positions where they begin."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from crawler_dedup.hamming import Numbers
from crawler_dedup.signing.schemes.scheme import ValueScheme

Positions = NDArray[np.int64]


class Pieces(NamedTuple):
    """Pieces of a text: the letter at which each begins (int64), and the number by which it is compared (uint64)."""

    starts: Positions
    numbers: Numbers


class PieceIndex(Protocol):
    """An index of the pieces of one text, for comparison with those of many pages."""

    def partners(self, theirs: Numbers) -> tuple[Positions, Positions]:
        """Return the pairs of matching numbers, as places in the text's numbers and in *theirs* (ascending and distinct).

        Their number is bounded: a few times the length of *theirs*, or a few hundred thousand.
        """


class PassageScheme(ValueScheme):
    """A scheme by which ``crawler-dedup trace`` finds the passages that a text shares with kept pages.

    Each scheme defines what a letter is; positions and lengths are counted in letters.
    """

    least_keys: ClassVar[int] = 1
    """Least number of buckets of a text's pieces that a page must be filed in to be compared with the text."""

    @property
    @abstractmethod
    def piece_letters(self) -> int:
        """Letters of a piece."""

    @property
    @abstractmethod
    def reach(self) -> int:
        """Largest distance between the beginnings of two common pieces of one passage, in letters of text and page."""

    @abstractmethod
    def find_letters(self, plain: str) -> Positions:
        """Return the position in a normalised text of each of its letters, ascending: shape (letters,)."""

    @abstractmethod
    def pieces_of_text(self, plain: str) -> Pieces:
        """Return the pieces of a normalised text that is traced; none if it is shorter than a piece."""

    @abstractmethod
    def pieces_of_page(self, value: bytes) -> Pieces:
        """Return the pieces of a kept page with *value*. Raises :class:`ValueError` if the value is damaged or empty."""

    @abstractmethod
    def keys_of_pieces(self, numbers: Numbers) -> Numbers:
        """Return the buckets of pages that share pieces with these *numbers*; a bucket may occur twice."""

    @abstractmethod
    def index_pieces(self, numbers: Numbers) -> PieceIndex:
        """Index the *numbers* of a text's pieces, which are ascending and distinct."""
