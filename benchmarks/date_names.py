"""Write the names of months and weekdays, and examples of dates: ``python -m benchmarks.date_names [FOLDER]``.

Both come from the Unicode CLDR, by way of the package Babel (extra ``bench``). The examples are those of
``tests/signing/test_dates.py``.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

from babel import Locale
from babel.dates import format_date, format_skeleton

from crawler_dedup.signing.features import normalise

ROOT = Path(__file__).parents[1]
LOCALES = (
    "af", "am", "ar", "ar_MA", "ar_SY", "az", "be", "bg", "bn", "bs", "ca", "cs", "cy", "da", "de", "de_AT", "el",
    "en", "en_AU", "en_GB", "eo", "es", "et", "eu", "fa", "fi", "fil", "fo", "fr", "fy", "ga", "gl", "gu", "he", "hi",
    "hr", "hu", "hy", "id", "is", "it", "ja", "ka", "kk", "km", "kn", "ko", "ky", "lb", "lo", "lt", "lv", "mk", "ml",
    "mn", "mr", "ms", "mt", "my", "nb", "ne", "nl", "nn", "pa", "pl", "pt", "pt_PT", "ro", "ru", "si", "sk", "sl",
    "sq", "sr", "sr_Latn", "sv", "sw", "ta", "te", "th", "tr", "uk", "ur", "uz", "vi", "zh", "zh_Hant",
)  # fmt: skip
_NOT_IN_CLDR = {("month", 3): ["mrz"], ("month", 9): ["sept", "set"]}
"""Abbreviations that are common on the web."""
_FIRST = date(2011, 8, 10)


def names() -> str:
    """Return a line for each month and each weekday: its kind, its number, and its names in all languages, normalised."""
    rows: dict[tuple[str, int], set[str]] = defaultdict(set)
    for locale in map(Locale.parse, LOCALES):
        for kind, contexts, first in (("month", locale.months, 1), ("weekday", locale.days, 0)):
            for context in ("format", "stand-alone"):
                for width in ("wide", "abbreviated"):
                    for number, name in contexts[context][width].items():
                        rows[kind, number + 1 - first].update(_forms(name))
    for row, words in _NOT_IN_CLDR.items():
        rows[row].update(words)
    lines = ("\t".join([kind, str(number), *sorted(rows[kind, number])]) for kind, number in sorted(rows))
    return "".join(f"{line}\n" for line in lines)


def _forms(name: str) -> Iterator[str]:
    """Yield *name* as it is matched, without a last dot, unless it is a number or too short to be told from other words."""
    plain = normalise(name).strip(" .").removeprefix("de ")
    if not any(map(str.isdecimal, plain)) and len(plain) > (2 if plain.isascii() else plain < "\u3000"):
        yield plain


def examples() -> Iterator[str]:
    """Yield for each language a date in its full, long and medium notation, and a month: language, date, normalised text."""
    for number, language in enumerate(LOCALES):
        day = _FIRST + timedelta(days=37 * number)
        for style in ("full", "long", "medium"):
            yield f"{language}\t{day}\t{normalise(format_date(day, style, language))}\n"
        yield f"{language}\t{day:%Y-%m}\t{normalise(format_skeleton('yMMMM', day, locale=language))}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="for both files, instead of their places in the checkout")
    folder = parser.parse_args().folder
    for text, place, name in (
        (names(), "crawler_dedup/data", "dates.txt"),
        ("".join(examples()), "tests/signing", "dates.tsv"),
    ):
        file = (folder or ROOT / place) / name
        file.write_text(text, encoding="utf-8")
        print(f"{file}: {text.count(chr(10)):,} lines, {len(text.encode()):,} bytes")


if __name__ == "__main__":
    main()
