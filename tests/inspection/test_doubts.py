"""A title that differs by more than the letter after an apostrophe is a reason to doubt a drop."""

from __future__ import annotations

from crawler_dedup.inspection.doubts import find_doubts
from crawler_dedup.journal.entry import VERSION, Entry


def test_words_of_titles_are_compared() -> None:
    for title, kept_title, doubts in [
        ("Backbone - Adrian Mejia’s Blog", "Backbone | Adrian Mejia Blog", []),
        ("L’eau", "L’air", ["other words in the title: eau"]),
        ("Part b", "Part a", ["other words in the title: b"]),
    ]:
        entry = Entry(VERSION, "", "", "drop", "site", "site", "http://a/1", "http://a/1", "alike", title=title)
        assert [reason for _, reason in find_doubts(entry, kept_title, b"", 7)] == doubts
