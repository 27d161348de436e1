"""Shares of agreements, rounded."""

from __future__ import annotations

from crawler_dedup.signing.schemes import Agreement


def shares_of(agreement: Agreement | None) -> tuple[float, float] | None:
    """Return resemblance and coverage, rounded."""
    if agreement is None:
        return None
    assert agreement.resemblance is not None
    assert agreement.coverage is not None
    assert agreement.distance is None
    return near(agreement.resemblance, agreement.coverage)


def near(resemblance: float, coverage: float) -> tuple[float, float]:
    return round(resemblance, 7), round(coverage, 7)
