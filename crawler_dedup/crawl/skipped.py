"""Responses that the gate does not let through, by its reasons (:meth:`crawler_dedup.crawl.gate.Gate.skip_reason`)."""

from __future__ import annotations

from collections import Counter

JOURNAL_REASONS = {"asked": "dedup_skip", "incomplete": "incomplete", "inline": "downloaded inside a callback"}
"""Reasons for responses that may be pages, with the reasons in the journal."""

_IN_WORDS = {
    "asked": 'meta["dedup_skip"] of their requests asked for it',
    "inline": "they were downloaded inside callbacks (`await engine.download(…)`, inline requests)",
    "head": "they answer HEAD requests",
    "status": "their status is not 200",
    "incomplete": "they are incomplete (Scrapy's flag dataloss)",
    "not_html": "they are not HTML",
}
"""All reasons that may concern pages; ``robots.txt`` and images have another one."""
_ENOUGH = 10
_NEARLY_ALL = 0.95


class SkippedResponses:
    """Counts the skipped responses of a crawl, to notice that the filter is as good as off."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._is_reported = False

    def add(self, reason: str) -> None:
        """Count a response that was skipped for *reason*."""
        if reason in _IN_WORDS:
            self._counts[reason] += 1

    def find_cause(self, checked: int) -> str:
        """Return a warning, once, if nearly all responses were skipped for one reason; ``""`` otherwise.

        Args:
            checked: how many responses were checked.
        """
        responses = checked + self._counts.total()
        for reason, count in self._counts.most_common(1):
            if not self._is_reported and count >= max(_ENOUGH, _NEARLY_ALL * responses):
                self._is_reported = True
                return (
                    f"The filter has checked only {checked} pages, and skipped {count} of {responses} responses because"
                    f" {_IN_WORDS[reason]} (dedup/skipped/{reason})"
                )
        return ""
