"""Every number of the rules, with its reason.

Sizes are in Latin letters, as blocks measure them (:class:`crawler_dedup.signing.blocks.PackedBlock`). The threshold that
users can set, ``max_distance``, is in :class:`crawler_dedup.config.Config`.
"""

# What a site repeats

MIN_PAGES = 8
"""Number of pages after which a site is known, by its first snapshot: fewer pages may be those of one section."""
SECOND_SNAPSHOT, SNAPSHOT_INTERVAL = 16, 32
"""Numbers of pages after which the second snapshot is published, and then each further one."""
HALVE_AT = 240
"""Counts of a site are halved at this number of pages, so that they follow a site that changes."""
MAX_COUNTERS = 5_000
"""Maximum number of blocks, links and parts of titles that are counted for a site."""
COUNTERS_LEFT = 7 * MAX_COUNTERS // 8
"""Counters left after the rarest are forgotten, so that this is not done with each page."""
FURNITURE_SHARE = 0.5
"""A block on this share of the pages, or more, is furniture."""
SHARED_SHARE = 0.15
"""A block on more than this share of the pages is shared."""
NAVIGATION_SHARE = 0.3
"""A link on this share of the pages is navigation."""
TITLE_SHARE = 0.3
"""A part of this share of the titles is the site's: four kinds of page about four things make sixteen titles ("Manual |
Router")."""
MIN_SHARED = 3
"""Least number of pages that have a navigation link, or a part of a title of the site, on a site of few pages; and a line of
a list of latest comments."""
TITLES = 4
"""A block that many pages have must be under this many different titles, because copies of one page prove nothing. On a
site with fewer titles, such as an archive, titles do not count."""

# Blocks

DISTINCTIVE_HEADING = 16
"""Beside the main text of an unknown site, a shorter heading may be "Categories" or "Comments"."""
DESCRIPTION = 100
"""On two unknown hosts, a longer block between the heading and the main text is no frame, but describes what follows. With
60, the same content in another frame was missed in 2 % more cases; with 200, a note above a listing was lost."""

BACK_LINK = 20
"""A longer link in the main text is no label such as "Back"."""
ANOTHER_FRAME = 4
"""With fewer other blocks around it, a page of an unknown host is in the same frame as another one."""
LIST_SHARE = 0.03
"""Other links beside the main text with more than this share of its size are another page of a list. With .02, labelled
copies with other neighbours ("older", "newer") were missed."""

# Thin pages

NOTHING = 20
"""A page with less text of its own counts as empty."""
LITTLE_TEXT = 100
"""With less text that is not linked, a page which does not name itself may be a frame that a script fills; and pictures on
another host count by their addresses."""
MOST_MORE = 0.15
"""A kept page of a known site with more than this many times the new page's own blocks besides is another page: an archive
of a day is no copy of that of its month."""

# Links

MANY_MORE, MORE_LINKS = 1.5, 10
"""A page with this many times the links of another one, and this many more, leads further. On one host nearly all copies
have the same links."""
NOWHERE = 2
"""A kept page with at most this many links represents no page of its host that has more: a print copy, whose links are
"back" and "home"."""
MAX_LIST_VARIANTS = 50
"""A list with new links passes. When as many lists with the same text and other links are kept, further ones are duplicates:
this ends lists that never end (calendars, session identifiers in paths)."""
