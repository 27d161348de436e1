"""The header of an index: written when it is created, compared with the configuration when it is opened."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from crawler_dedup.errors import IndexMismatch, IndexUnusable
from crawler_dedup.index.layout import decode_struct
from crawler_dedup.system.logs import logger_without_credentials

logger = logger_without_credentials(__name__)

FORMAT = 15
"""Version of the layout of the databases."""
_REMEDY = (
    "Use the configuration of the index, or another location (in a crawl DEDUP_DIR, or another ?index=NAME in DEDUP_INDEX),"
    " or empty this index (in a crawl with DEDUP_FRESH = True)."
)


class Header(msgspec.Struct, frozen=True):
    """The header of an index.

    Attributes:
        format: version of the layout.
        spec: what signatures depend on; must equal ours.
        libraries: versions of the libraries on which signatures depend; another version is only warned about.
    """

    format: int
    spec: dict[str, str]
    libraries: dict[str, str]

    def has_spec_of(self, other: Header) -> bool:
        """Return whether format and spec are those of *other*."""
        return _identity(self) == _identity(other)

    def expected(self, spec: Mapping[str, str] | None) -> Header:
        """Return the header that this version would write for *spec*; ``None``: for the spec of this header."""
        return Header(FORMAT, self.spec if spec is None else dict(spec), self.libraries)


_decode = msgspec.json.Decoder(Header).decode


def decode_header(content: bytes | memoryview) -> Header:
    """Decode a header that was stored as JSON; raise :class:`msgspec.DecodeError` for anything else."""
    return decode_struct(_decode, content)


def check_header(name: Path | str, theirs: Header, ours: Header) -> None:
    """Raise :class:`IndexMismatch` if an index with the header *theirs* does not fit *ours*; warn about other libraries."""
    require_same_spec(f"The index in {name}", _identity(theirs), _identity(ours), _REMEDY)
    for library, then in theirs.libraries.items():
        now = ours.libraries.get(library, then)  # ours do not depend on a library that is not listed
        if now == then:
            continue
        logger.warning(
            "The index in %s was made with %s %s, this process has %s: signatures of the same text may differ slightly,"
            " so some duplicates of earlier pages may be missed. To avoid that, install the earlier version, or use a new"
            " index.",
            name,
            library,
            then,
            now,
        )


def other_header_error(name: object) -> IndexUnusable:
    """Build the error that an open index has got the header of another configuration."""
    return IndexUnusable(
        f"Another process, with other settings, has emptied the index in {name} (DEDUP_FRESH) while this one was using it."
        " Give the two processes different indexes, or the same settings, and start this one again."
    )


def require_same_spec(
    name: str, theirs: Mapping[str, str], ours: Mapping[str, str], remedy: str = "Use the same configuration."
) -> None:
    """Raise :class:`IndexMismatch`, with the differences and a *remedy*, if the spec of what *name* names is not *ours*."""
    names = dict.fromkeys([*theirs, *ours])
    if differences := {n: (theirs.get(n), ours.get(n)) for n in names if theirs.get(n) != ours.get(n)}:
        raise IndexMismatch(name, differences, remedy)


def _identity(header: Header) -> dict[str, str]:
    return {"format": str(header.format), **header.spec}
