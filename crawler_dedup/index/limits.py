"""The limits of an index: every work on a page is bounded, whatever is in the index."""

MAX_REPRESENTATIVES = 64
"""Maximum number of pages under one signature. Further pages pass and are recorded, but represent no others: a spike (one
log-in text at a million addresses) stays one short bucket."""

MAX_UNDER_TITLE = 8
"""Maximum number of pages under one title: even if all pages of a site have it, no more are compared because of it."""

MAX_COMPARED = 256
"""Maximum number of kept pages that are compared with one new page, nearest first."""

MAX_ALIASES = 4
"""Maximum number of aliases of a page. A site that redirects each visit to an address of its own makes many."""

MAX_ALSO_AT = 32
"""Maximum number of addresses of duplicates that are stored with the page that represents them, the first ones."""

MAX_ADDRESS_CHARS = 2_000
"""Maximum length of such an address."""

MAX_SNAPSHOTS = 16
"""Number of snapshots of a site that are kept, the latest ones."""

MAX_OVERRIDES = 100_000
"""Maximum number of overrides: each process that decides has them in memory."""

MAX_OPEN_CLAIMS = 10_000
"""Maximum number of open claims that a process remembers. With more, it no longer knows whether all have ended."""
