"""Offer the pages of a case to the filter, and compare its verdict with that of a person."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from crawler_dedup import Config, Decision, Deduplicator, SignedPage, Verdict
from crawler_dedup.urls import host_of
from tests.support.families.all import FAMILIES
from tests.support.families.cases import Case, Expected, Family
from tests.support.families.pages import Page

COLD, WARM = "cold", "warm"
"""An index that knows nothing of the sites, and an index that has kept other pages of them."""


@dataclass(frozen=True)
class Trial:
    """A case, and whether the index knows its sites."""

    family: Family
    case: Case
    context: str

    @property
    def name(self) -> str:
        return f"{self.family.name} / {self.case.name} / {self.context}"

    @property
    def may_miss(self) -> bool:
        """Return whether a duplicate may pass, because it is recognised only if the site is known."""
        return self.case.needs_site and self.context == COLD


def trials() -> list[Trial]:
    return [trial for family in FAMILIES for trial in trials_of(family)]


def trials_of(family: Family) -> list[Trial]:
    return [Trial(family, case, context) for case in family.cases for context in (COLD, WARM)]


@dataclass(frozen=True)
class Outcome:
    """The decisions of the filter about the kept pages and the new page of a trial.

    Attributes:
        mistake: a sentence that says which decision is wrong; empty if none is.
        is_drop: whether a page was dropped that a person wants.
    """

    trial: Trial
    kept: list[Decision]
    new: Decision
    mistake: str = ""
    is_drop: bool = False


class Judge:
    """An index in which each trial has its own scope."""

    def __init__(self, directory: Path) -> None:
        self._deduplicator = Deduplicator.open(directory, Config(tokenizer="rjieba"))
        self._outcomes: dict[str, Outcome] = {}
        self._sign = cache(self._sign_anew)

    def judge(self, trial: Trial) -> Outcome:
        """Return the outcome of a trial. The pages of all trials of its family are offered together, to save commits."""
        if trial.name not in self._outcomes:
            self._judge_family(trial.family)
        return self._outcomes[trial.name]

    def _judge_family(self, family: Family) -> None:
        other_pages = [self._sign(page) for page in family.make_other_pages()]
        offered = [(trial, self._offer(trial, other_pages)) for trial in trials_of(family)]
        for trial, offers in offered:
            *kept, new = [offer.result()[0] for offer in offers]
            self._outcomes[trial.name] = _outcome(trial, kept, new)

    def _offer(self, trial: Trial, other_pages: list[SignedPage]) -> list[Future[list[Decision]]]:
        """Offer the pages; if the context is warm, other pages of their sites first. Pages that pass are settled at once."""
        signed_pages = [self._sign(page) for page in (*trial.case.kept, trial.case.new)]
        if trial.context == WARM:
            hosts = {host_of(page.url) for page in signed_pages}
            of_these = [page for page in other_pages if host_of(page.url) in hosts]
            self._deduplicator.submit([replace(page, scope=trial.name) for page in of_these])
        return [self._deduplicator.submit([replace(page, scope=trial.name)]) for page in signed_pages]

    def _sign_anew(self, page: Page) -> SignedPage:
        return self._deduplicator.sign(page.url, page.html.encode())

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self._deduplicator.close()


def _outcome(trial: Trial, kept: list[Decision], new: Decision) -> Outcome:
    expected = trial.case.expected
    for decision in kept:
        if not decision.passes:
            return Outcome(trial, kept, new, f"A page that is to be kept was dropped: {decision}", is_drop=True)
    if new.verdict is Verdict.DUPLICATE:
        if expected is not Expected.DUPLICATE:
            return Outcome(trial, kept, new, f"Dropped, though a person wants both: {new}", is_drop=True)
        if new.duplicate_of not in [page.url for page in trial.case.kept]:
            return Outcome(trial, kept, new, f"Dropped for a page that does not have its content: {new}", is_drop=True)
    elif expected is Expected.DUPLICATE and not trial.may_miss:
        return Outcome(trial, kept, new, f"Kept, though a person wants one of the two only: {new}")
    elif expected is Expected.NEW and new.verdict is not Verdict.NEW:
        return Outcome(trial, kept, new, f"Passed, though not as a page that represents others: {new}")
    return Outcome(trial, kept, new)
