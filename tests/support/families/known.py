"""Trials in which the filter's verdict is not yet that of a person: name → why.

A trial that succeeds fails the tests until it is removed here. ``python -m tests.support.families`` names such trials.
"""

_NAME_ONLY = "Of two texts that only have the same name, short lines at the ends of the main text count, too."
_KINDS = "A short page or a list is never compared with a long text."
_TITLES = "Other titles of one text, or one title before the names of two sites, veto."
_SHORT = "Of short pages all words, links and parts of the title must be the same."
_FURNITURE = "What stands on all pages of the site counts as their text."
_LINKS_OF_SITE = "Links of the side column count as those of the page."
_GROWN = "A list is not covered by one that has all its links and more."
_ADDRESS = "A word differs that is the address."
_LEADS_ON = "Only a page with links leads on, so a page that has at most two never represents it."

_IN_BOTH_CONTEXTS = {
    "forum / a post alone and its thread, the part last": _KINDS,
    "news / a wire under another byline and headline": _TITLES,
    "news / an excerpt behind which more is for subscribers, the part last": _KINDS,
    "news / 门户转载": _TITLES,
    "editions / the article after its edition for printing": _LEADS_ON,
    "editions / a page of an article and its edition for printing, the part last": _LEADS_ON,
    "editions / a cut edition for telephones, the part last": _KINDS,
    "editions / a short note for printing": _SHORT,
    "search / nothing found, twice": _ADDRESS,
    "soft 404 / no page, with its address": _ADDRESS,
    "parked domains / parked, with its name as the title": _ADDRESS,
    "parked domains / parked, with its name in the text": _ADDRESS,
    "archives / a month before and after a post, the part last": _KINDS,
    "copies / a short text with a word corrected": _SHORT,
    "notices / a member without and with notices, the part last": _KINDS,
}
KNOWN: dict[str, str] = {
    **{f"{name} / {context}": why for name, why in _IN_BOTH_CONTEXTS.items() for context in ("cold", "warm")},
    "calendars / a month before and after two events were added, the part last / cold": _GROWN,
    "consent walls / a notice in another language / warm": _FURNITURE,
    "soft 404 / no page, beside another side column / warm": _LINKS_OF_SITE,
    "archives / a day on which one post was written, in full / warm": _TITLES,
    "copies / a poem on two hosts / cold": _NAME_ONLY,
}
