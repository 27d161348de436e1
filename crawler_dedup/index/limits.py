"""The limits of an index: every work on a page is bounded, whatever is in the index.

What a page has is limited when it is signed (``signing.limits``). Lengths of names, and of the chunks of buckets, are in
:mod:`crawler_dedup.index.layout`.
"""

# What is stored

MAX_REPRESENTATIVES = 64
"""Maximum number of pages under one signature. Further pages pass and are recorded, but represent no others: a spike (one
log-in text at a million addresses) stays one short bucket."""
MAX_UNDER_TITLE = 8
"""Maximum number of pages under one title: even if all pages of a site have it, no more are compared because of it."""
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

# What is done for one page, or in one transaction

MAX_COMPARED = 256
"""Maximum number of kept pages that are compared with one new page, nearest first."""
MAX_CHANGED = 256
"""Maximum number of pages, sites or overrides that a command changes in one transaction: a site may take 400 KB."""
MAX_BATCH_BYTES = 1 << 25
"""Length of the texts and other values of records that are imported or compared together; the last one may exceed it."""

# What a process remembers

MAX_KNOWN_SNAPSHOTS = 256
"""Maximum number of snapshots while an offer is decided: the snapshot of a hostile site takes 400 KB."""
MAX_EMPTIED_SITES = 100_000
"""Maximum number of sites that are removed with their last pages at a time. With more, the others keep their profiles."""
