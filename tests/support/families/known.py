"""Trials in which the filter's verdict is not yet that of a person: name → why.

A trial that succeeds fails the tests until it is removed here. ``python -m tests.support.families`` names those.
"""

from __future__ import annotations

_FAR = "A part is far from the whole in the signature, and is never compared with it."
_KINDS = "A short page or a list is never compared with a long text."
_TITLES = "Other titles of one text, or one title before the names of two sites, veto."
_WHOLE_TITLES = "Identical titles do not agree where one of the sites writes them on all its pages."
_SHORT = "Of short pages all words, links and parts of the title must be the same."
_HEADINGS = "Other headings under one title do not veto."
_DATES = "Another date or hour does not veto."
_PARTS = "Parts that the kept page does not have are not noticed among many words that it has."
_FURNITURE = "What stands on all pages of the site counts as their text."
_NOTHING = "Pages that say nothing of their own are lists with the same links."
_LINKS = "Two lists with the same set of links are the same list."
_PICTURES = "Pictures of a list are not compared."
_LINKS_OF_SITE = "Links of the side column count as those of the page."
_GROWN = "A list is not covered by one that has all its links and more."
_ADDRESS = "A word differs that is the address."

KNOWN: dict[str, str] = {
    "forum / a post alone and its thread, the part last / cold": _KINDS,
    "forum / a post alone and its thread, the part last / warm": _KINDS,
    "forum / a thread before and after two answers, the part last / cold": _FAR,
    "forum / a thread before and after two answers, the part last / warm": _FAR,
    "forum / 只看楼主, the part last / cold": _FAR,
    "forum / 只看楼主, the part last / warm": _FAR,
    "products / two lengths under one generic title / cold": _HEADINGS,
    "products / two lengths under one generic title / warm": _HEADINGS,
    "products / two models whose tables differ / cold": _HEADINGS,
    "products / two models whose tables differ / warm": _HEADINGS,
    "products / without and with reviews, the part last / cold": _FAR,
    "products / without and with reviews, the part last / warm": _FAR,
    "news / a wire under another byline and headline / cold": _TITLES,
    "news / a wire under another byline and headline / warm": _TITLES,
    "news / a wire without and with local paragraphs, the part last / cold": _FAR,
    "news / a wire without and with local paragraphs, the part last / warm": _FAR,
    "news / an excerpt behind which more is for subscribers, the part last / cold": _KINDS,
    "news / an excerpt behind which more is for subscribers, the part last / warm": _KINDS,
    "news / 门户转载 / cold": _FAR,
    "news / 门户转载 / warm": _FAR,
    "editions / the accelerated edition / cold": _TITLES,
    "editions / the article after its accelerated edition / cold": _TITLES,
    "editions / a page of an article and its edition for printing, the part last / cold": _FAR,
    "editions / a page of an article and its edition for printing, the part last / warm": _FAR,
    "editions / a cut edition for telephones, the part last / cold": _KINDS,
    "editions / a cut edition for telephones, the part last / warm": _KINDS,
    "editions / a recipe as a card and with its story, the part last / cold": _KINDS,
    "editions / a recipe as a card and with its story, the part last / warm": _KINDS,
    "editions / a short note for printing / cold": _SHORT,
    "editions / a short note for printing / warm": _SHORT,
    "translations / a text without translation in a German frame / cold": _TITLES,
    "translations / English, and English and German, the part last / cold": _FAR,
    "translations / English, and English and German, the part last / warm": _FAR,
    "calendars / one film on two days / cold": _DATES,
    "calendars / one film on two days / warm": _DATES,
    "calendars / one film on one day at two hours / cold": _DATES,
    "calendars / one film on one day at two hours / warm": _DATES,
    "calendars / a date line that stands on a fifth of the pages / cold": _DATES,
    "calendars / a date line that stands on a fifth of the pages / warm": _DATES,
    "calendars / a class in two weeks / cold": _DATES,
    "calendars / a class in two weeks / warm": _DATES,
    "calendars / a month before and after two events were added, the part last / cold": _GROWN,
    "calendars / a month before and after two events were added, the part last / warm": _GROWN,
    "calendars / 同一讲座两场 / cold": _DATES,
    "calendars / 同一讲座两场 / warm": _DATES,
    "search / one more result / cold": _PARTS,
    "search / one more result / warm": _PARTS,
    "search / nothing found, twice / cold": _ADDRESS,
    "search / nothing found, twice / warm": _ADDRESS,
    "consent walls / two short articles under one title / cold": _FURNITURE,
    "consent walls / two short articles under one title / warm": _FURNITURE,
    "consent walls / an article without its notice / cold": _FURNITURE,
    "consent walls / an article without its notice / warm": _FURNITURE,
    "consent walls / an article with a notice / warm": _FURNITURE,
    "consent walls / a notice in another language / warm": _FURNITURE,
    "consent walls / 同题的两篇短文 / cold": _FURNITURE,
    "consent walls / 同题的两篇短文 / warm": _FURNITURE,
    "soft 404 / no page, with its address / cold": _ADDRESS,
    "soft 404 / no page, with its address / warm": _ADDRESS,
    "soft 404 / no page, beside another side column / warm": _LINKS_OF_SITE,
    "parked domains / parked, with its name as the title / cold": _ADDRESS,
    "parked domains / parked, with its name as the title / warm": _ADDRESS,
    "parked domains / parked, with its name in the text / cold": _ADDRESS,
    "parked domains / parked, with its name in the text / warm": _ADDRESS,
    "shells / two shells under one title / cold": _NOTHING,
    "shells / two shells under one title / warm": _NOTHING,
    "shells / two shells above long terms under one title / cold": _NOTHING,
    "shells / two shells above long terms under one title / warm": _NOTHING,
    "shells / two shells whose content stands in a script / cold": _NOTHING,
    "shells / two shells whose content stands in a script / warm": _NOTHING,
    "archives / two days under one title, with titles alone / cold": _LINKS,
    "archives / two days under one title, with titles alone / warm": _LINKS,
    "archives / two months under one title, with titles alone / cold": _LINKS,
    "archives / two months under one title, with titles alone / warm": _LINKS,
    "archives / a month before and after a post, the part last / cold": _KINDS,
    "archives / a month before and after a post, the part last / warm": _KINDS,
    "archives / page 2 of two hosts that print some of the same posts / warm": _PARTS,
    "archives / eight teasers and the article under one title / cold": _PARTS,
    "archives / eight teasers and the article under one title / warm": _PARTS,
    "archives / an article whose end is missing in a listing that has the words of it / cold": _PARTS,
    "archives / an article whose end is missing in a listing that has the words of it / warm": _PARTS,
    "archives / a day on which one post was written, in full / warm": _TITLES,
    "copies / a page that has moved to another host / cold": _TITLES,
    "copies / identical whole titles which one site writes on all pages / warm": _WHOLE_TITLES,
    "copies / a history before and after a sentence was added, the part last / cold": _FAR,
    "copies / a history before and after a sentence was added, the part last / warm": _FAR,
    "copies / a short text with a word corrected / cold": _SHORT,
    "copies / a short text with a word corrected / warm": _SHORT,
    "copies / a poem on two hosts / cold": _SHORT,
    "copies / a poem on two hosts / warm": _SHORT,
    "copies / two photographs under one title / cold": _PICTURES,
    "copies / two photographs under one title / warm": _PICTURES,
    "copies / 两处抄的诗 / cold": _SHORT,
    "copies / 两处抄的诗 / warm": _SHORT,
}
