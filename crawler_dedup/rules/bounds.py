"""Lower bounds of what a text must have in common with a kept text to be covered by it, whatever else the rules compare.

The bounds are checked for many pairs at once. A pair that has less in common is called different by a row of
:data:`crawler_dedup.rules.table.TABLE` that does not count as a variant, so that the rules need not be asked about it. All
other pairs have to be decided by the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from crawler_dedup.config import Config
from crawler_dedup.hamming import Numbers
from crawler_dedup.signing import sketch

MEASURED_BYTES = 96
"""Memory that the measures of a page take."""

_DIGEST_BYTES = 8
_SLACK = 1e-9  # for rounding: the rules compute the same values in another order

Places = NDArray[np.int64]
Flags = NDArray[np.bool_]


class _Measured(msgspec.Struct, array_like=True, gc=False):
    """The first fields of a :class:`~crawler_dedup.signedpage.SignedPage`."""

    key: str
    url: str
    scope: str
    title: str = ""
    digest: bytes = b""
    size: int = 0
    kind: int = 0
    chars: int = 0
    signature: int = 0
    value: bytes = b""
    features: int = 0
    sketch: bytes = b""


_decode = msgspec.msgpack.Decoder(_Measured).decode


class Measures(NamedTuple):
    """The measures of some pages.

    Attributes:
        are_estimates: whether the resemblance of a page is estimated from bins; other pages have no bounds.
        digests: digests of the bodies of the pages.
        features: numbers of their features.
        bins: sketches of these features, a row for each page.
    """

    are_estimates: Flags
    digests: Numbers
    features: Places
    bins: NDArray[np.uint8]

    @classmethod
    def of(cls, contents: Sequence[bytes]) -> Measures:
        """Measure signed pages, encoded with msgpack. Raises :class:`msgspec.DecodeError` if a page is damaged."""
        pages = [_decode(content) for content in contents]
        are_estimates = np.array(
            [len(page.sketch) == sketch.BINS and len(page.digest) == _DIGEST_BYTES for page in pages], dtype=bool
        )
        no_digest, no_bins = bytes(_DIGEST_BYTES), bytes(sketch.BINS)
        estimates = [*zip(pages, are_estimates.tolist(), strict=True)]
        digests = b"".join([page.digest if is_estimate else no_digest for page, is_estimate in estimates])
        bins = b"".join([page.sketch if is_estimate else no_bins for page, is_estimate in estimates])
        return cls(
            are_estimates,
            np.frombuffer(digests, np.uint64),
            np.array([page.features for page in pages], np.int64),
            np.frombuffer(bins, np.uint8).reshape(-1, sketch.BINS),
        )

    @classmethod
    def join(cls, parts: Sequence[Measures]) -> Measures:
        """Return the measures of all pages of *parts*."""
        return cls(*map(np.concatenate, zip(*parts, strict=True))) if parts else cls.of([])


def may_be_covered(measures: Measures, new: Places, kept: Places, limits: Config) -> Flags:
    """Return for each pair of texts whether the rules have to decide if the kept text covers the new text.

    Args:
        new: the place of each new page in *measures*.
        kept: the place of each kept page.
        limits: the settings with the thresholds.
    """
    resemblance = sketch.resemblances(measures.bins[new], measures.bins[kept])
    sizes = measures.features[new], measures.features[kept]
    common = np.minimum(resemblance / (1 + resemblance) * (sizes[0] + sizes[1]), np.minimum(*sizes))
    coverage = np.where(sizes[0] > 0, common / np.maximum(sizes[0], 1), 1.0)
    is_comparable = (
        measures.are_estimates[new] & measures.are_estimates[kept] & (measures.digests[new] != measures.digests[kept])
    )
    resemblance, coverage = resemblance + _SLACK, coverage + _SLACK
    least = limits.min_resemblance**2  # of a part
    flags: Flags = ~is_comparable | ((resemblance >= least) & (coverage >= limits.min_coverage))
    return flags
