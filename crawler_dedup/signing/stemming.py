"""Words → stems, by the algorithms of Snowball (extra ``stem``)."""

from __future__ import annotations

from functools import lru_cache

from crawler_dedup.signing.tables import stop_words

LANGUAGES = (
    "arabic", "armenian", "basque", "catalan", "danish", "dutch", "english", "finnish", "french", "german", "greek", "hindi",
    "hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali", "norwegian", "portuguese", "romanian", "russian",
    "serbian", "spanish", "swedish", "tamil", "turkish", "yiddish",
)  # fmt: skip
"""The languages of snowballstemmer 2.2; later versions have more."""

_LONGEST = 40
"""Maximum number of letters of a word that is stemmed: longer strings are not words, and take long."""
_FIRST_WIDE = "\u2e80"
"""First character of the range with kana, Han and Hangul, which no algorithm changes."""


def stem_words(words: list[str], language: str) -> list[str]:
    """Return the stems of *words* by the rules of *language*. Stop words, which are listed unstemmed, are not changed."""
    ignored = stop_words()
    return [
        word if word >= _FIRST_WIDE or len(word) > _LONGEST or word in ignored else _stem(word, language)
        for word in words
    ]


@lru_cache(maxsize=1 << 15)
def _stem(word: str, language: str) -> str:
    import snowballstemmer  # noqa: PLC0415  (optional)

    # A stemmer for each call: it stores the word that it works on, and several threads may sign pages.
    stem: str = snowballstemmer.stemmer(language).stemWord(word)
    return stem
