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
"""Least number of pages that have a navigation link, or a part of a title of the site, on a site of few pages."""
TITLES = 4
"""A block that many pages have must be under this many different titles, because copies of one page prove nothing. On a
site with fewer titles, such as an archive, titles do not count."""

# Blocks

DISTINCTIVE_HEADING = 16
"""A shorter heading may be "Categories" or "Comments"."""
DISTINCTIVE_ENTRY = 20
"""A shorter link of a thin page may be "PDF" or "read more"."""

# Thin pages

NOTHING = 20
"""A page with less text of its own counts as empty."""
LITTLE_TEXT = 100
"""With less text that is not linked, a page which does not name itself may be a frame that a script fills; and pictures on
another host count by their addresses."""
MEDIUM_TEXT = 300
"""A shorter own text must be the same, in the same order; a shorter main text of a thin page may be of a side column."""
MOST_WORDS = 0.85
"""Least resemblance and coverage of longer own texts of two thin pages."""

# Text pages

MIN_RESEMBLANCE = 0.65
"""Least share of common tokens of two duplicates (Jaccard, estimated from sketches with a standard error of .06), with
schemes that do not measure it (``simhash``, ``checksums``, ``imatch``)."""
MIN_COVERAGE = 0.85
"""Least share of the tokens of the new page that the kept page has too (containment, estimated), with the same schemes:
pages with the same content change as much from visit to visit."""
MORE_TEXT = 1.25
"""A text that is more than this many times as long as another one says more, even in the same words. A start page with more
than this many times the features of an article shows other articles, too."""
PART_OF_HOST = 0.95
"""The least coverage of a part on its own host. With .85, a paper was a part of its longer version, under one title."""
CAPTION = 250
"""Letters between the title and the main text: a caption may be as long, and change."""
MANY_FEATURES = 100
"""With fewer, labelled pages with the same words under two titles or headings were two pages."""
ALIKE, ALONE_ALIKE = 2, 3
"""Least number of common min-hashes (of six) of a block and its edit; the second, if no other block differs. Of unrelated
blocks in each other's place, one in twenty has two in common, and one in 250 has three."""
GROWTH, GROWTH_LETTERS = 1.05, 16
"""An edit makes a block hardly longer: texts that take the place of others have at most this many times their size, plus
this many letters for each block."""
FRAME_LETTERS, FRAME_SHARE = 80, 0.05
"""In another design, new lines that together have up to this size, or replaced ones with this share of the text, may belong
to the frame. Several replaced blocks in one place may have the first size only: they are a paragraph of a mail."""
LIST_SHARE = 0.03
"""Entries beside the main text with more than this share of its size are a list. With .02, labelled copies with other
neighbours ("older", "newer") were missed."""
CELL = 8
"""In another design, each number that takes the place of another one counts as this many letters, at least: a table of other
values has few letters."""
DESCRIPTION = 100
"""In another design, a longer block between the heading and the main text is no frame, but describes what follows. With 60,
the same content in another frame was missed in 2 % more cases; with 200, a note above a listing was lost."""
SAME_TEXT = 1.1
"""In another design, two blocks whose sizes differ by less than this factor are one text; other numbers in it are facts."""
ANSWERS = 2
"""Longer blocks beside the main text that together have this many times its size are no frame, but what others answer: the
frame of a host may have as much text as a page."""
CUT = 3
"""In another design, paragraphs may be divided elsewhere: one min-hash in common is enough for texts whose sizes differ by
more than this factor. With 4, a labelled pair was missed. With 1.5, a footer made room for a paragraph of half its size."""

MOST_MOVED = 32
"""Places by which an edited block may have moved. More would take quadratic time on two pages of many blocks."""

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
SAME_LINKS, SAME_SHARE = 2, 0.1
"""Two pages are of one design if the numbers of their links, and the sizes of the texts in these, differ by at most this
number or this share. Of the labelled duplicates on one host, this is false only for two designs of one page."""
