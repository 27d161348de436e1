"""The passages that two texts share, found from runs of letters that both have, and what differs in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from crawler_dedup.hashes import Numbers, mix_bits
from crawler_dedup.inspection.difference import compare_words
from crawler_dedup.signing.characters import HAN, LETTER, MARKS_RANGES, UNSPACED_RANGES
from crawler_dedup.signing.features import normalise
from crawler_dedup.signing.initials import NO_INITIAL, initial_of_each, locate_initials
from crawler_dedup.signing.schemes.winnowing import Pieces, Positions, choose_runs, count_letters

Scheme = Literal["pinyin", "winnowing"]
SCHEMES: Sequence[Scheme] = ("pinyin", "winnowing")
LEAST_LETTERS: dict[Scheme, int] = {"pinyin": 30, "winnowing": 48}
"""Least number of letters of a passage that is reported."""
RUN_LETTERS: dict[Scheme, int] = {"pinyin": 12, "winnowing": 30}
"""Number of successive letters that are looked up together."""
_WINDOWS: dict[Scheme, int] = {"pinyin": 16, "winnowing": 61}  # successive runs, at least one of which is looked up

# Pieces of words: each is normalised by itself, so that its place is known. Cut, because places within one are interpolated.
_PIECE = re.compile(rf"(?:[^\W_{UNSPACED_RANGES}][{MARKS_RANGES}]*|[{UNSPACED_RANGES}]){{1,40}}")
_OTHER_WORD = re.compile(rf"{LETTER}+|[{UNSPACED_RANGES}]")
_SLICE = 1 << 14
"""Number of characters that are read at a time: the interpreter lock is held for each."""
_NO_POSITIONS = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Letters:
    """The letters of a text.

    Attributes:
        scheme: what a letter is.
        codes: one byte for each letter, shape (letters,).
        positions: the position in the text of the character of each letter, ascending, shape (letters,).
    """

    scheme: Scheme
    codes: NDArray[np.uint8]
    positions: Positions

    def choose_runs(self) -> Pieces:
        """Choose the runs by which passages are found: at least one in each passage of 27 initials, or of 90 letters."""
        hashes = mix_bits(self.codes.astype(np.uint64) + np.uint64(1))
        return choose_runs(hashes, RUN_LETTERS[self.scheme], _WINDOWS[self.scheme])


@dataclass(frozen=True)
class _PlainText:
    """A normalised text with the position in the original text of each of its characters."""

    text: str
    positions: Positions


def find_scheme(text: str) -> Scheme:
    """Return the scheme for *text*: initials if it has at least as many Chinese characters as other words."""
    han, others = (sum(1 for _ in pattern.finditer(text)) for pattern in (HAN, _OTHER_WORD))
    return "pinyin" if han and han >= others else "winnowing"


def read_letters(text: str, schemes: Sequence[Scheme]) -> list[Letters]:
    """Read the letters of *text* in each of the *schemes*.

    Raises :class:`~crawler_dedup.errors.BeyondLimits` for a text that becomes much longer when it is normalised.
    """
    plain = _normalise(text)
    return [_read_initials(plain) if scheme == "pinyin" else _read_characters(plain) for scheme in schemes]


def _normalise(text: str) -> _PlainText:
    parts = [_normalise_slice(text, at) for at in range(0, len(text), _SLICE)]
    return _PlainText(
        "".join([part.text for part in parts]), np.concatenate([_NO_POSITIONS, *(part.positions for part in parts)])
    )


def _normalise_slice(text: str, at: int) -> _PlainText:
    spans = np.array([piece.span() for piece in _PIECE.finditer(text, at, at + _SLICE)], dtype=np.int64).reshape(-1, 2)
    # Nothing that is normalised makes a line break.
    lines = normalise("\n".join([text[start:end] for start, end in spans.tolist()])).split("\n")[: len(spans)]
    lengths = np.fromiter(map(len, lines), dtype=np.int64)
    starts, ends = spans.T
    begins = np.cumsum(lengths + 1) - lengths - 1
    within = np.arange((lengths + 1).sum()) - np.repeat(begins, lengths + 1)  # of its line, with the line break
    shares = within * np.repeat(ends - starts, lengths + 1) // np.repeat(np.maximum(1, lengths), lengths + 1)
    return _PlainText("".join([f"{line}\n" for line in lines]), np.repeat(starts, lengths + 1) + shares)


def _read_initials(plain: _PlainText) -> Letters:
    codes, indexes = locate_initials(plain.text)
    return Letters("pinyin", codes, plain.positions[indexes])


def _read_characters(plain: _PlainText) -> Letters:
    codes = np.frombuffer(plain.text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    indexes = np.flatnonzero(codes > ord(" "))
    codes = codes[indexes]
    times = count_letters(codes)
    folded = (codes ^ codes >> 8).astype(np.uint8)  # different for all letters of most alphabets
    return Letters("winnowing", np.repeat(folded, times), plain.positions[np.repeat(indexes, times)])


_MAX_PAIRS = 1 << 18  # of equal runs in a text and in all works
_CHUNK = 512  # letters of the text that are compared at a time
_BAND = 16  # shifts that are compared at a time
_MARGIN = 4  # shifts beside a band
_BESIDE = 96  # letters that are compared before and after equal runs
_MAX_REGIONS = 2_000  # for a short text and all works; longer texts have a few for each chunk
_REGIONS_OF_CHUNK = 8
_LEAST_REGIONS = 16  # for each work
_WINDOW, _LEAST_EQUAL = 16, 12
"""A number of successive letters, and how many of them are equal where one text is a copy of the other."""
_GAP = 48
"""Most letters, and largest change of the shift, between two parts of a passage."""


class Passage(NamedTuple):
    """A passage of a text that is in a work: characters *start* to *end*, there *work_start* to *work_end*."""

    start: int
    end: int
    work_start: int
    work_end: int


@dataclass(frozen=True)
class Comparison:
    """What a text shares with a work.

    Attributes:
        passages: the passages, in the order of the text, with places in characters.
        share_of_text: share of the letters of the text that lie in passages.
        share_of_work: share of the letters of the work that do.
    """

    passages: list[Passage]
    share_of_text: float
    share_of_work: float


class EqualRuns(NamedTuple):
    """Runs of letters that a text and a work have in common: where each begins in the text, and where in the work."""

    starts: Positions
    work_starts: Positions


def pair_runs(
    starts: Positions, numbers: Numbers, work_starts: Positions, work_numbers: Numbers, count: int
) -> EqualRuns:
    """Pair the runs of a text with equal runs of a work.

    Args:
        numbers: hashes of the runs that begin at *starts*, ascending; likewise those of the work, in any order.
        count: number of the runs of all works that are paired with those of the text.
    """
    first, last = (np.searchsorted(numbers, work_numbers, side) for side in ("left", "right"))
    times = np.minimum(last - first, max(1, _MAX_PAIRS // max(1, count)))
    before = np.cumsum(times) - times
    places = np.repeat(first - before, times) + np.arange(times.sum())
    return EqualRuns(starts[places], np.repeat(work_starts, times))


def compare(text: Letters, work: Letters, runs: EqualRuns, effort: float) -> Comparison | None:
    """Return the passages that *text* and *work* share, beginning with equal *runs*; ``None`` if there are none.

    Args:
        effort: this work's share of the effort that comparing the text with all works may take.
    """
    shifts = _align(text, work, runs, effort)
    (aligned,) = np.nonzero(shifts != _NONE)
    work_places = aligned + shifts[aligned]
    breaks = np.flatnonzero((np.diff(aligned) > _GAP) | (np.abs(np.diff(shifts[aligned])) > _GAP)) + 1
    passages, covered = [], np.zeros(len(work.codes), dtype=np.bool_)
    letters = 0
    for first, end in pairwise([0, *breaks.tolist(), len(aligned)]):
        if first == end:
            continue
        start, last = int(aligned[first]), int(aligned[end - 1])
        work_start, work_last = int(work_places[first:end].min()), int(work_places[first:end].max())
        if last - start + 1 < LEAST_LETTERS[text.scheme] or 2 * (end - first) < last - start + 1:
            continue
        letters += last - start + 1
        covered[work_start : work_last + 1] = True
        passages.append(
            Passage(
                int(text.positions[start]),
                int(text.positions[last]) + 1,
                int(work.positions[work_start]),
                int(work.positions[work_last]) + 1,
            )
        )
    return Comparison(passages, letters / len(text.codes), float(covered.mean())) if passages else None


_NONE = np.iinfo(np.int64).min


class _Region(NamedTuple):
    """A part of a text in which letters are compared: letters *start* to *end*, with those shifted by *shift* and more."""

    start: int
    end: int
    shift: int


def _align(text: Letters, work: Letters, runs: EqualRuns, effort: float) -> Positions:
    """Return for each letter of *text* by how much its copy in *work* is shifted; :data:`_NONE` if it has no copy there."""
    letters = len(text.codes)
    shifts = np.full(letters, _NONE, dtype=np.int64)
    certainty = np.zeros(letters, dtype=np.int64)
    most = _LEAST_REGIONS + int(effort * (_MAX_REGIONS + _REGIONS_OF_CHUNK * letters // _CHUNK))
    for region in _find_regions(letters, runs, RUN_LETTERS[text.scheme], most):
        equal, counts = _compare_region(text.codes, work.codes, region)
        best = counts.argmax(axis=0)
        columns = np.arange(len(best))
        counted = counts[best, columns]
        place = slice(region.start, region.end)
        is_better = equal[best, columns] & (counted > certainty[place])
        certainty[place][is_better] = counted[is_better]
        shifts[place][is_better] = (best + region.shift)[is_better]
    return shifts


def _find_regions(letters: int, runs: EqualRuns, run_letters: int, most: int) -> Iterator[_Region]:
    """Yield the regions around equal runs, *most* of them at the most, those with most runs first."""
    if not len(runs.starts):
        return
    bands = (runs.work_starts - runs.starts) // _BAND
    order = np.lexsort((runs.starts, bands, runs.starts // _CHUNK))
    starts, bands = runs.starts[order], bands[order]
    is_new = np.append(True, (np.diff(starts // _CHUNK) != 0) | (np.diff(bands) != 0))
    first = np.flatnonzero(is_new)
    counts = np.diff(first, append=len(starts))
    for number in np.argsort(-counts, kind="stable")[:most].tolist():
        begin = int(starts[first[number]])
        end = int(starts[first[number] + counts[number] - 1]) + run_letters
        shift = int(bands[first[number]]) * _BAND - _MARGIN
        yield _Region(max(0, begin - _BESIDE), min(letters, end + _BESIDE), shift)


def _compare_region(
    text: NDArray[np.uint8], work: NDArray[np.uint8], region: _Region
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Compare the letters of a region at every shift of its band.

    Return whether each letter is equal, and how many windows that are nearly equal it lies in: shape (shifts, letters).
    """
    length, shifts = region.end - region.start, _BAND + 2 * _MARGIN
    begin = region.start + region.shift
    part = work[max(0, begin) : max(0, begin + length + shifts - 1)]
    before = min(max(0, -begin), length + shifts - 1)  # letters before the beginning of the work
    is_inside = np.zeros(length + shifts - 1, dtype=np.bool_)
    padded = np.zeros(length + shifts - 1, dtype=np.uint8)
    padded[before : before + len(part)] = part
    is_inside[before : before + len(part)] = True
    equal = (sliding_window_view(padded, length) == text[region.start : region.end]) & sliding_window_view(
        is_inside, length
    )
    width = min(_WINDOW, length)
    sums = np.cumsum(np.pad(equal, ((0, 0), (1, 0))), axis=1, dtype=np.int64)
    is_copied = sums[:, width:] - sums[:, :-width] >= _LEAST_EQUAL
    windows = np.cumsum(np.pad(is_copied, ((0, 0), (width, width - 1))), axis=1, dtype=np.int64)
    return equal, windows[:, width:] - windows[:, :-width]


class AlignedPart(NamedTuple):
    """A part of two passages: equal, in characters whose readings begin alike, or different."""

    kind: Literal["equal", "homophone", "different"]
    text: str
    work_text: str


def align_passages(text: str, work_text: str) -> Iterator[AlignedPart]:
    """Align a passage of a page with that of a work; white space is shown as single spaces."""
    for part in compare_words(" ".join(text.split()), " ".join(work_text.split())):
        if part.is_equal:
            yield AlignedPart("equal", *part)
        else:
            is_homophone = _sound_alike(part.new.replace(" ", ""), part.kept.replace(" ", ""))
            yield AlignedPart("homophone" if is_homophone else "different", *part)


def _sound_alike(first: str, second: str) -> bool:
    if len(first) != len(second) or (first + second).isascii():
        return False
    initials = initial_of_each(first), initial_of_each(second)
    return bool(np.array_equal(*initials) and (initials[0] != NO_INITIAL).all())
