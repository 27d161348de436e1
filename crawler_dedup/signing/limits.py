"""The limits of a page: what is larger is refused before it is read, or cut off.

Two more are settings: ``DEDUP_MAX_BYTES``, the size of the body, and ``DEDUP_MIN_FEATURES``, the least text
(:class:`crawler_dedup.config.Config`).
"""

# A page with more passes unchecked

MAX_NODES = 50_000
"""Maximum number of elements of a page. A page with four times as many ``<`` is not even parsed."""
MAX_DEPTH = 100
"""Deepest nesting of a page that is read: the functions that read a tree are recursive, and Python allows 1,000 calls."""
MAX_ATTRIBUTES = 30_000
"""Maximum number of attributes of an element. To add one, libxml2 goes through the others: some seconds for an
element with this many."""
MAX_CHARS = 200_000
"""Maximum length of the main text of a page: several times that of the longest of 1,700 real pages. jieba segments so many
Chinese characters in about a second."""

# The rest is cut off, or left out

MAX_TITLE_CHARS = 200
"""Maximum number of characters of a title, once it is normalised, that are read."""
MAX_WRITTEN_CHARS = 2 * MAX_TITLE_CHARS
"""Maximum number of characters as they are written: some texts have a mark or a soft hyphen after each letter."""
MAX_BLOCKS = 512
"""Maximum number of blocks of a page that are kept; if there are more, headings and the largest blocks are kept."""
MAX_LINKS = 512
"""Maximum number of links of a page that are kept; if there are more, none is."""
