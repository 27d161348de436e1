"""Runs of Chinese characters → tokens: the words of a dictionary (``jieba``, ``rjieba``), or pairs of characters.

A dictionary takes tens of megabytes, and up to a second to load. A process loads each kind once, with the first Chinese
text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from crawler_dedup.config import AUTO, Config
from crawler_dedup.errors import IndexMismatch
from crawler_dedup.system.extras import has_extra, require_extra

if TYPE_CHECKING:
    from importlib.abc import Traversable

_T = TypeVar("_T")

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
def han_cutter(name: str) -> CutHan:
    """Load the cutter *name* of this process: ``jieba``, ``rjieba`` or ``bigrams``, which has no dictionary."""
    return {"jieba": _jieba, "rjieba": _rjieba, "bigrams": _bigrams}[name]()


def character_bigrams(run: str) -> list[str]:
    """Return the pairs of neighbouring characters of *run*; a run of one character is its own token."""
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def _bigrams() -> CutHan:
    return lambda runs: [pair for run in runs for pair in character_bigrams(run)]


def _rjieba() -> CutHan:
    import rjieba  # noqa: PLC0415  (optional; loads its dictionary)

    return lambda runs: _words(rjieba.cut("\n".join(runs), False))


def _jieba() -> CutHan:
    """Load jieba with a tokenizer of our own: words that other code adds to the global one do not change signatures.

    (Words that it deletes with ``jieba.del_word`` do: jieba keeps that list for all tokenizers.) jieba's guesses at words
    that its dictionary lacks (a hidden Markov model) are left out: they take half of its time and find no more duplicates.
    """
    import jieba  # noqa: PLC0415  (slow; not needed by the other tokenizers)

    tokenizer = jieba.Tokenizer()
    # Its method initialize() would write a compiled dictionary into the folder for temporary files.
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(jieba_file().open("rb"))
    tokenizer.initialized = True
    return lambda runs: _words(tokenizer.cut("\n".join(runs), HMM=False))


def jieba_file() -> Traversable:
    """Return jieba's dictionary. ``importlib.resources.files`` would import jieba, which takes a fifth of a second."""
    loader: Any = find_spec("jieba").loader  # type: ignore[union-attr]  # jieba is always installed
    files: Traversable = loader.get_resource_reader("jieba").files()
    return files / "dict.txt"


def _words(tokens: Iterable[str]) -> list[str]:
    return [word for word in tokens if word != "\n"]
