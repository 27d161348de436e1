"""Write the tables of words and characters in ``crawler_dedup/data``: ``python -m benchmarks.word_tables [FOLDER]``.

They are made from packages that the filter itself does not need: OpenCC, stopwordsiso and pypinyin (extra ``test``).
Signatures depend on the tables: if a table changes, ``BEHAVIOUR`` of ``crawler_dedup.signing.signer`` has to be raised.
"""

from __future__ import annotations

import argparse
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path

import opencc
import stopwordsiso
from pypinyin import Style, pinyin
from pypinyin.phrases_dict import phrases_dict

from crawler_dedup.signing.characters import simplify_han
from crawler_dedup.signing.features import normalise
from crawler_dedup.signing.wordtables import READ_CODES
from crawler_dedup.system.compression import compress

FOLDER = Path(__file__).parents[1] / "crawler_dedup" / "data"

_LEVEL = 19
_HAN_BLOCKS = (range(0x3400, 0xA000), range(0xF900, 0xFB00), range(0x20000, 0x323B0))
_IN_SOME_WORDS = {"瞭": "了", "覆": "复", "藉": "借", "暱": "昵", "著": "着"}
"""Characters that OpenCC folds only in some words."""


def simplified_forms() -> str:
    """Return a line of all characters that have a simplified form, and a line of these forms."""
    characters = [chr(code) for block in _HAN_BLOCKS for code in block]
    lines = opencc.OpenCC("t2s").convert("\n".join(characters)).split("\n")
    forms = {character: line for character, line in zip(characters, lines, strict=True) if len(line) == 1}
    forms |= _IN_SOME_WORDS
    changed = sorted(character for character, form in forms.items() if _last_form(character, forms) != character)
    return f"{''.join(changed)}\n{''.join(_last_form(character, forms) for character in changed)}\n"


def _last_form(character: str, forms: Mapping[str, str]) -> str:
    form = forms.get(character, character)
    return forms.get(form, form)  # a simplified form may itself have a simplified form


def stop_words() -> str:
    """Return a line of the codes of all languages, and for each language a line of its stop words, normalised."""
    languages = sorted(stopwordsiso.langs())
    return "".join(f"{line}\n" for line in ("\t".join(languages), *map(_stop_words_of, languages)))


def _stop_words_of(language: str) -> str:
    words = "\n".join(stopwordsiso.stopwords(language))
    return "\t".join(sorted({*normalise(words).split("\n")} - {""}))


def readings() -> str:
    """Return a line for each character: its first reading without tones, or an empty line if it has none."""
    return "".join(f"{_reading(chr(code))}\n" for code in READ_CODES)


def _reading(character: str) -> str:
    ((reading, *_),) = pinyin(character, style=Style.NORMAL, errors=lambda _: "-")
    return "" if reading == "-" else reading


def phrases() -> str:
    """Return a line for each phrase in which a character does not have its first reading: the phrase and its initials.

    Phrases that contain such a phrase, but read it otherwise, are included. All phrases are given as written, and folded.
    """
    written = {
        form: "".join(_without_tones(reading)[:1] for reading, *_ in readings)
        for phrase, readings in phrases_dict.items()
        for form in (phrase, simplify_han(phrase))
        if len(phrase) == len(readings) and all(ord(character) in READ_CODES for character in phrase)
    }
    first = {chr(code): _reading(chr(code))[:1] for code in READ_CODES}
    by_phrase = {
        phrase: initials
        for phrase, initials in written.items()
        if initials != "".join(first.get(character, "") for character in phrase)
    }
    chosen = {
        phrase: initials
        for phrase, initials in written.items()
        if phrase in by_phrase or _holds(phrase, initials, by_phrase)
    }
    return "".join(f"{phrase} {initials}\n" for phrase, initials in sorted(chosen.items()))


def _holds(phrase: str, initials: str, initials_of_phrases: Mapping[str, str]) -> bool:
    """Return whether a part of *phrase* is in *initials_of_phrases*, but has other initials in *phrase*."""
    return any(
        initials_of_phrases.get(phrase[start:end], initials[start:end]) != initials[start:end]
        for start, end in combinations(range(len(phrase) + 1), 2)
    )


def _without_tones(reading: str) -> str:
    return "".join(filter(str.isascii, unicodedata.normalize("NFD", reading)))


def tables() -> Iterator[tuple[str, str]]:
    """Yield the name of each file, and its content."""
    yield "simplified.txt.zst", simplified_forms()
    yield "stopwords.txt.zst", stop_words()
    yield "readings.txt.zst", readings()
    yield "phrases.txt.zst", phrases()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER, metavar="FOLDER")
    folder = parser.parse_args().folder
    for name, content in tables():
        packed = compress(content.encode(), _LEVEL)
        (folder / name).write_bytes(packed)
        print(f"{folder / name}: {len(packed):,} bytes, {content.count(chr(10)):,} lines")


if __name__ == "__main__":
    main()
