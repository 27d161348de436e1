"""Runs of Chinese characters → tokens: the words of a dictionary (``jieba``, ``rjieba``), or pairs of characters.

A dictionary takes tens of megabytes, and up to a second to load. A process loads each kind once, with the first Chinese
text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from crawler_dedup.config import AUTO, Config
from crawler_dedup.errors import IndexMismatch
from crawler_dedup.signing import native
from crawler_dedup.signing.characters import HAN
from crawler_dedup.signing.loading import Resource
from crawler_dedup.signing.native import replaceable
from crawler_dedup.system.extras import has_extra, require_extra

if TYPE_CHECKING:
    from importlib.abc import Traversable

_T = TypeVar("_T")
_PIECE = 1 << 16  # bytes of a dictionary that are read at a time
_SAMPLED = 16  # to compare two tokenizers, one of this many words of the dictionary is used
_WORDS = 8  # words in a line that both tokenizers cut
_COMPARED = {"jieba": ("0.42",), "rjieba": ("0.1.", "0.2.")}
"""Beginnings of versions that were compared and have the same dictionary: loading rjieba for a comparison takes long."""

CutHan = Callable[[list[str]], Iterable[str]]
"""Cuts runs of Chinese characters into tokens, all runs of a text at once."""


def resolve_tokenizer(config: Config, recorded: str = AUTO) -> Config:
    """Return *config* with a tokenizer in the place of ``auto``.

    This is the tokenizer *recorded* in an index; if none is recorded, rjieba if it is installed, else jieba.

    Raises:
        ConfigError: the tokenizer is not installed, or unknown to this version.
    """
    is_auto = config.tokenizer == AUTO
    tokenizer = recorded if is_auto else config.tokenizer
    if tokenizer == AUTO:
        tokenizer = "rjieba" if has_extra("fast") else "jieba"
    if tokenizer == "rjieba":
        setting = "DEDUP_TOKENIZER = 'rjieba'"
        require_extra("fast", f"The index was made with {setting}, which" if is_auto else setting)
    return replace(config, tokenizer=tokenizer)  # type: ignore[arg-type]


def with_tokenizer_of_index(config: Config, use: Callable[[Config], _T]) -> _T:
    """Call *use*, which opens an index, with a configuration that has a tokenizer in the place of ``auto``.

    First this is the tokenizer that a new index would get. If the index turns out to be made with another tokenizer
    (perhaps by another process at this moment), *use* is called again with that tokenizer.

    Raises:
        ConfigError: the tokenizer is not installed.
    """
    try:
        return use(resolve_tokenizer(config))
    except IndexMismatch as mismatch:
        recorded = mismatch.differences.get("tokenizer", ("", ""))[0]
        if config.tokenizer != AUTO or not recorded:
            raise
    return use(resolve_tokenizer(config, str(recorded)))


@cache
def han_cutter(name: str) -> Resource[CutHan]:
    """Return the cutter *name* of this process: ``jieba``, ``rjieba`` or ``bigrams``, which has no dictionary to load."""
    cutter = Resource(f"The dictionary of {name}", {"jieba": _jieba, "rjieba": _rjieba, "bigrams": _bigrams}[name])
    if name == "bigrams":
        cutter.load()
    return cutter


def character_bigrams(run: str) -> list[str]:
    """Return the pairs of neighbouring characters of *run*; a run of one character is its own token."""
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def _bigrams() -> CutHan:
    return lambda runs: [pair for run in runs for pair in character_bigrams(run)]


@dataclass(frozen=True)
class CutOnDemand:
    """Cuts runs of Chinese characters, with a dictionary that may have to be loaded first.

    Attributes:
        cutter: the function that cuts the runs.
        load: whether *cutter* is loaded when needed; if not, :class:`~crawler_dedup.signing.loading.NotLoaded` is raised.
    """

    cutter: Resource[CutHan]
    load: bool

    def __call__(self, runs: list[str]) -> Iterable[str]:
        """Cut *runs*."""
        return self.cutter.get(load=self.load)(runs)


@dataclass(frozen=True)
class CoreCutter:
    """Cuts runs of Chinese characters with a dictionary of the native core.

    Attributes:
        dictionary: the dictionary of the core.
        load: loads a function that cuts in the same way without the core.
    """

    dictionary: object
    load: Callable[[], CutHan]

    def __call__(self, runs: list[str]) -> Iterable[str]:
        """Cut *runs*."""
        return cut_runs(runs, self)


@replaceable(revision=1)
def cut_runs(runs: list[str], cutter: CoreCutter) -> list[str]:
    """Cut *runs* as *cutter* does."""
    return [*cutter.load()(runs)]


def find_dictionary(cut_han: CutHan) -> object | None:
    """Return the dictionary of the native core with which *cut_han* cuts; ``None`` if it uses none."""
    cutter = cut_han.cutter.get(load=cut_han.load) if isinstance(cut_han, CutOnDemand) else cut_han
    return cutter.dictionary if isinstance(cutter, CoreCutter) else None


def _rjieba() -> CutHan:
    dictionary = _make_dictionary()
    if dictionary is None:
        return _load_rjieba()
    cutter = CoreCutter(dictionary, _load_rjieba)
    was_compared = all(version(name).startswith(compared) for name, compared in _COMPARED.items())
    return cutter if was_compared or _cut_alike(cutter, _load_rjieba()) else _load_rjieba()


def _make_dictionary() -> object | None:
    """Make jieba's dictionary in the native core, in pieces: other threads run between them."""
    with jieba_file().open("rb") as file:
        pieces = iter(lambda: file.read(_PIECE) + file.readline(), b"")
        return native.make("HanDictionary", revision=1, pieces=pieces, log=math.log)


def _cut_alike(first: CutHan, second: CutHan) -> bool:
    """Return whether two tokenizers agree on lines of words from the whole of jieba's dictionary."""
    with jieba_file().open(encoding="utf-8") as file:
        words = [line.partition(" ")[0] for line in islice(file, 0, None, _SAMPLED)]
    lines = ["".join(filter(HAN.match, words[at : at + _WORDS])) for at in range(0, len(words), _WORDS)]
    return [*first(lines)] == [*second(lines)]


@cache
def _load_rjieba() -> CutHan:
    import rjieba  # noqa: PLC0415  (optional; loads its dictionary)

    return lambda runs: _words(rjieba.cut("\n".join(runs), False))


def _jieba() -> CutHan:
    dictionary = _make_dictionary()
    return _load_jieba() if dictionary is None else CoreCutter(dictionary, _load_jieba)


@cache
def _load_jieba() -> CutHan:
    """Load jieba with a tokenizer of our own: words that other code adds to the global one do not change signatures.

    (What it deletes with ``jieba.del_word`` does: jieba keeps that list for all tokenizers.) jieba's guesses at words that
    its dictionary lacks (a hidden Markov model) are left out: they take half of its time and find no more duplicates.
    """
    import jieba  # noqa: PLC0415  (slow; not needed by the other tokenizers)

    tokenizer = jieba.Tokenizer()
    with jieba_file().open(encoding="utf-8") as lines:
        tokenizer.FREQ, tokenizer.total = read_dictionary(lines)
    tokenizer.initialized = True
    return lambda runs: _words(tokenizer.cut("\n".join(runs), HMM=False))


def jieba_file() -> Traversable:
    """Return jieba's dictionary. ``importlib.resources.files`` would import jieba, which takes a fifth of a second."""
    loader: Any = find_spec("jieba").loader  # type: ignore[union-attr]  # jieba is always installed
    files: Traversable = loader.get_resource_reader("jieba").files()
    return files / "dict.txt"


def read_dictionary(lines: Iterable[str]) -> tuple[dict[str, int], int]:
    """Read jieba's dictionary as jieba does. Return the count of each word (0 for a mere beginning of words), and the sum.

    This takes less time and memory than reading the file that jieba compiles from the dictionary.
    """
    counts: dict[str, int] = {}
    total = 0
    for line in lines:
        word, count = line.split(" ", 2)[:2]
        counts[word] = times = int(count)
        total += times
        beginning = word[:-1]
        while beginning and beginning not in counts:
            counts[beginning] = 0
            beginning = beginning[:-1]
    return counts, total


def _words(tokens: Iterable[str]) -> list[str]:
    return [word for word in tokens if word != "\n"]
