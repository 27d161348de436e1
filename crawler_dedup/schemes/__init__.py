"""Signature schemes, one file each."""

from crawler_dedup.errors import DedupError
from crawler_dedup.schemes.simhash import SimHash

__all__ = ["SimHash", "scheme_of"]


def scheme_of(spec: str) -> SimHash:
    """The scheme that calls itself *spec*. Raises :class:`DedupError` for one that this version does not have."""
    if spec != SimHash.spec:
        raise DedupError(f"The index is made with the scheme {spec!r}, which this version does not have.")
    return SimHash()
