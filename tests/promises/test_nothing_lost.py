"""The promise of the index, tested with real processes and ``kill -9``: a page is dropped only if a page that covers it
is stored, or was handled by a run that lives.

In the end a page that covers it is stored for each page of a run that ended well.
"""

from __future__ import annotations

import itertools
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from crawler_dedup import Config, Decision, Deduplicator, SignedPage
from crawler_dedup.index import opening
from crawler_dedup.rules import table
from crawler_dedup.rules.pair import Pair
from crawler_dedup.signing.signer import Signer
from tests.support.crawling import article
from tests.support.examples import examples
from tests.support.indexing import FILING
from tests.support.verification import verify
from tests.support.workers import Nothing, Worker

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked and spoken to as on Linux")

# Pages

_Page = tuple[int, str]
"""Content and address."""

_KINDS: tuple[dict[str, Any], ...] = ({}, {"frame": "an advertisement"}, {"count": 96}, {"count": 192})
_COUNT = 144  # whole paragraphs, so that the longer text adds one
_FAMILIES = (7, 24)  # the longer text is near enough to the others to be compared with them, and covers them
_LENGTHS = [kind.get("count", _COUNT) for kind in _KINDS]
CONTENTS = range(len(_KINDS) * len(_FAMILIES))
URLS = ("http://a.example/", "http://b.example/", "http://c.example/")
"""On one known host the rules look at more than :func:`covers` does."""


def elsewhere(page: _Page) -> _Page:
    """Return *page* at another address, where records of a killed process may represent it."""
    content, url = page
    return content, URLS[URLS.index(url) - 1]


def covers(kept: int, new: int) -> bool:
    """Return whether content *kept* represents *new*."""
    family, kind = divmod(kept, len(_KINDS))
    return family == new // len(_KINDS) and _LENGTHS[new % len(_KINDS)] <= _LENGTHS[kind]


@cache
def signed(content: int, url: str) -> SignedPage:
    family, kind = divmod(content, len(_KINDS))
    body = article(_FAMILIES[family], **{"count": _COUNT, **_KINDS[kind]}).encode()
    return _signer().sign(url, body, encoding=None, key=None, scope="")[0]


@cache
def _signer() -> Signer:
    return Signer(Config(tokenizer="bigrams"))


def test_the_rules_agree_about_which_pages_are_covered() -> None:
    for new in CONTENTS:
        for kept in CONTENTS:
            pair = Pair(signed(new, URLS[0]), signed(kept, URLS[1]), _signer().config, _signer().scheme)
            assert (table.compare(pair) is not None) == covers(kept, new)


# Runs


@dataclass
class Life:
    """A run.

    Attributes:
        worker: its process.
        open: decisions by which a page has passed that was not handled yet, with its content.
        buffer: contents that it has stored, and when they will be on disk.
        owed: contents that must be stored in the end if it ends well.
    """

    number: int
    worker: Worker
    lives: bool = True
    open: list[tuple[Decision, int]] = field(default_factory=list)
    buffer: list[tuple[int, float]] = field(default_factory=list)
    owed: list[int] = field(default_factory=list)


@dataclass
class Slot:
    """A place for a process: its latest run, and all pages that its killed predecessors and it have on their list."""

    life: Life
    pages: list[_Page] = field(default_factory=list)


_Pause = tuple[float, int]
_Visit = tuple[_Page, str, float, _Pause]

COUNTED: Counter[str] = Counter()
"""Counts of events in all examples."""
BROKEN: list[str] = []
"""Histories of examples that failed, because Hypothesis does not report a failure at the end of a too long example."""

_SLOTS = st.integers(0, 2)
_PAGES = st.tuples(st.sampled_from(CONTENTS), st.sampled_from(URLS))
_ENDS = st.sampled_from(["handled", "handled", "handled", "failed", "later", "later"])
_FRACTIONS = st.sampled_from([0.01, 0.5, 1.0, 1.0])
_PAUSES = st.sampled_from(
    [(0.0, 0)] * 6 + [(0.4, 0), (7.5, 0), (-0.6, 1), (0.0, 1), (1.1, 1), (0.0, 2), (-3.0, 0), (-1.0, -1)]
)
"""Seconds and multiples of the grace that pass; negative, the clock is set back, while no time passes."""
_VISITS = st.lists(st.tuples(_PAGES, _ENDS, _FRACTIONS, _PAUSES), min_size=1, max_size=6)
_DELAYS = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 0.8])
"""Milliseconds from a command to the kill: as long as it takes to do what it says."""
_PERHAPS = st.sampled_from([None, None, None, None, 0.1, 0.3, 0.5])


class NothingLost(RuleBasedStateMachine):
    """Every rule can be drawn at any time, whatever has happened: what a kill prevented is not known when it is drawn."""

    folder: Path

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.mkdtemp(dir=self.folder)
        self._directory = Path(self._folder) / "index"
        self._runs = itertools.count()
        self._slots = [Slot(Life(-1, cast("Worker", None), lives=False)) for _ in range(3)]
        self._grace = 60
        self._true = 1_700_000_000.7
        self._behind = 0.0
        self._stored: set[int] = set()
        self._owed: set[int] = set()
        self._sound = True
        self._history: list[str] = []

    # Events

    @initialize(grace=st.sampled_from([60, 5, 5, 0]))
    def begin(self, grace: int) -> None:
        self._grace = grace
        for slot in self._slots[:2]:
            self._start(slot)

    @rule(slot=_SLOTS, delay=_PERHAPS)
    def start(self, slot: int, delay: float | None) -> None:
        free = [slot for slot in self._slots if not slot.life.lives]
        if free and delay is None:
            self._start(free[slot % len(free)])
        elif free and delay is not None:
            worker = Worker()
            worker.send("open", self._now, (self._directory, self._grace))
            time.sleep(delay / 50)
            worker.kill()
            COUNTED["kills"] += 1

    @rule(slot=_SLOTS, pages=_VISITS)
    def offer(self, slot: int, pages: Sequence[_Visit]) -> None:
        living = self._living(slot)
        if not living.life.lives:
            self._start(living)
        for page, end, fraction, pause in pages:
            passed = self._offer(living, page)
            self._pass(*pause)
            if passed and end != "later":
                self._handle(living, -1, end == "handled", fraction)

    @rule(slot=_SLOTS, page=_PAGES, pause=_PAUSES, fraction=_FRACTIONS, tidied=st.booleans())
    def handle_one_before_the_death(self, slot: int, page: _Page, pause: _Pause, fraction: float, tidied: bool) -> None:
        """Kill a process after it has handled a page; what is lost depends on the time between, and on the last offer."""
        self.offer(slot, [(page, "handled", fraction, (0.0, 0)), (page, "later", fraction, pause)])
        self._pass(*pause)
        self.offer(slot, [(page, "later", fraction, (0.0, 0))])
        self.kill(slot, not tidied)
        if tidied:
            self.tidy(slot, None)
            self.offer(slot, [(elsewhere(page), "later", fraction, (0.0, 0))])

    @rule(slot=_SLOTS, ends=st.lists(st.tuples(st.integers(0, 5), st.booleans(), _FRACTIONS), min_size=1, max_size=4))
    def handle(self, slot: int, ends: Sequence[tuple[int, bool, float]]) -> None:
        living = self._living(slot)
        for place, is_handled, fraction in ends:
            if living.life.lives and living.life.open:
                self._handle(living, place % len(living.life.open), is_handled, fraction)

    @rule(slot=_SLOTS)
    def flush(self, slot: int) -> None:
        life = self._living(slot).life
        if life.lives:
            self._flush(life)

    @rule(slot=_SLOTS, delay=_PERHAPS)
    def tidy(self, slot: int, delay: float | None) -> None:
        life = self._living(slot).life
        if not life.lives:
            return
        self._note(f"run {life.number} tidies up")
        life.worker.send("tidy", self._now)
        if delay is None:
            life.worker.answer()
        else:
            self._kill(life, delay)

    @rule(slot=_SLOTS, delay=_PERHAPS)
    def close(self, slot: int, delay: float | None) -> None:
        living = self._living(slot)
        life = living.life
        if life.lives and delay is None:
            self._close(living)
        elif life.lives and delay is not None:
            self._flush(life)
            life.worker.send("close", self._now)
            self._kill(life, delay)

    @rule(slot=_SLOTS, restart=st.booleans())
    def kill(self, slot: int, restart: bool) -> None:
        living = self._living(slot)
        if living.life.lives:
            self._kill(living.life)
            if restart:
                self._start(living)

    @rule(slot=_SLOTS, page=_PAGES, delay=_DELAYS)
    def kill_while_offering(self, slot: int, page: _Page, delay: float) -> None:
        living = self._living(slot)
        life = living.life
        if life.lives:
            living.pages.append(page)
            life.worker.send("offer", self._now, signed(*page))
            self._explain(life, page, self._kill(life, delay))

    @rule(slot=_SLOTS, place=st.integers(0, 5), is_handled=st.booleans(), fraction=_FRACTIONS, delay=_DELAYS)
    def kill_while_handling(self, slot: int, place: int, is_handled: bool, fraction: float, delay: float) -> None:
        life = self._living(slot).life
        if life.lives and life.open:
            decision, content = life.open.pop(place % len(life.open))
            if is_handled:
                self._store(life, content, fraction)
            life.worker.send("settle" if is_handled else "release", self._now, decision)
            self._kill(life, delay)

    @rule(seconds=st.sampled_from([0.7, 3.0, 40.0, -3.0, -1000.0]))
    def set_the_clock(self, seconds: float) -> None:
        """Set the clock back or forward, while no time passes."""
        self._behind += seconds

    # The end

    def teardown(self) -> None:
        try:
            if self._sound:
                self._end()
        finally:
            for slot in self._slots:
                if slot.life.lives:
                    slot.life.worker.kill()
            shutil.rmtree(self._folder)

    def _end(self) -> None:
        for slot in self._slots:
            if not slot.life.lives and slot.pages:
                self._start(slot)
        for slot in self._slots:
            if slot.life.lives:
                self._close(slot)
        for content in self._owed:
            self._require(self._is_stored(content), content, self._stored)
        last = self._slots[0]
        self._start(last)
        for content in CONTENTS:
            self._offer(last, (content, f"http://again.example/{content}"))
            self._require(content not in last.life.owed or self._is_stored(content), content, self._stored)
        self._close(last)
        if self._directory.exists():
            self._look_at_the_index()

    def _look_at_the_index(self) -> None:
        with Deduplicator.open(self._directory, Config(tokenizer="bigrams")) as deduplicator:
            deduplicator.tidy()
        kept = opening.open_to_write(self._directory)
        try:
            self._require(verify(kept, FILING) == [], verify(kept, FILING))
            self._require(all(record.settled for record in kept.records()), "open claims")
        finally:
            kept.close()
        self._require(not list(self._directory.glob("run-*.lock")), "lock files")

    def _is_stored(self, content: int) -> bool:
        return any(covers(stored, content) for stored in self._stored)

    def _is_safe(self, content: int) -> bool:
        """Return whether a page that covers *content* is stored, or was handled by a run that lives."""
        written = {stored for slot in self._slots if slot.life.lives for stored, _ in slot.life.buffer}
        return self._is_stored(content) or any(covers(stored, content) for stored in written)

    # Steps

    def _living(self, slot: int) -> Slot:
        """Return the slot, or another in which a process runs, if there is any."""
        turned = (*self._slots[slot:], *self._slots[:slot])
        return next((candidate for candidate in turned if candidate.life.lives), turned[0])

    @property
    def _now(self) -> tuple[float, float]:
        return self._true, self._behind

    def _note(self, event: object) -> None:
        """Record what happens, because a kill cannot be repeated."""
        self._history.append(f"{self._true:.1f} ({self._behind:.1f} behind) {event}")

    def _require(self, holds: bool, *context: object) -> None:
        if not holds:
            self._sound = False
            BROKEN.append("\n".join(map(str, (*self._history, *context))))
            raise AssertionError(BROKEN[-1])

    def _start(self, slot: Slot) -> None:
        """Start a process, which handles all pages of its killed predecessors well."""
        worker = Worker()
        number = next(self._runs)
        slot.life = Life(number, worker)
        worker.send("open", self._now, (self._directory, self._grace))
        worker.answer()
        self._note(f"run {number} starts")
        pages, slot.pages = slot.pages, []
        rest = list(dict.fromkeys(map(elsewhere, pages)))
        slot.pages = rest.copy()  # also if it is killed before that
        for page in rest:
            if self._offer(slot, page, listed=True):
                self._handle(slot, -1, is_handled=True, fraction=1.0)

    def _offer(self, slot: Slot, page: _Page, *, listed: bool = False) -> bool:
        """Offer *page*; whether it passes."""
        if not listed:
            slot.pages.append(page)
        slot.life.worker.send("offer", self._now, signed(*page))
        decision = slot.life.worker.answer()
        self._explain(slot.life, page, decision)
        assert isinstance(decision, Decision)
        return decision.passes

    def _explain(self, life: Life, page: _Page, decision: Decision | type[Nothing]) -> None:
        """Check an answer, or none if the process was killed before it."""
        content, url = page
        self._note(f"run {life.number} offers {content} at {url}: {decision}, claim {getattr(decision, 'claim', None)}")
        if isinstance(decision, Decision):
            COUNTED["drops"] += not decision.passes
            if decision.passes:
                life.open.append((decision, content))
            else:
                life.owed.append(content)
                self._require(self._is_safe(content), content, self._stored)

    def _handle(self, slot: Slot, place: int, is_handled: bool, fraction: float) -> None:
        """Let the process store and settle a page that has passed, or neither."""
        life = slot.life
        decision, content = life.open.pop(place)
        if is_handled:
            self._store(life, content, fraction)
            life.owed.append(content)
        life.worker.send("settle" if is_handled else "release", self._now, decision)
        answer = life.worker.answer()
        self._note(f"run {life.number} ends claim {decision.claim} of {decision.url}, handled: {is_handled}: {answer}")

    def _store(self, life: Life, content: int, fraction: float) -> None:
        """Let *content* be on disk after a *fraction* of the grace."""
        life.buffer.append((content, self._true + fraction * self._grace))
        self._write(life)

    def _write(self, life: Life) -> None:
        """Write to disk what is due."""
        self._stored.update(content for content, due in life.buffer if due <= self._true)
        life.buffer = [(content, due) for content, due in life.buffer if due > self._true]

    def _flush(self, life: Life) -> None:
        self._stored.update(content for content, _ in life.buffer)
        life.buffer.clear()

    def _pass(self, seconds: float, graces: int) -> None:
        passed = seconds + graces * self._grace
        self._note(f"{passed} seconds")
        if passed < 0 and graces <= 0:
            self._behind -= passed
        self._true += max(passed, 0.0)
        for slot in self._slots:
            if slot.life.lives:
                self._write(slot.life)

    def _close(self, slot: Slot) -> None:
        """Let the process store its contents, end its run and exit with an empty list."""
        life = slot.life
        self._flush(life)
        life.worker.send("close", self._now)
        life.worker.answer()
        life.worker.leave()
        self._note(f"run {life.number} has ended")
        life.lives = False
        self._owed.update(life.owed)
        slot.pages = []

    def _kill(self, life: Life, delay: float = 0.0) -> Any:
        """Kill a process *delay* milliseconds after its last command, and return its answer, if it came so far."""
        time.sleep(delay / 1000)
        answer = life.worker.kill()
        life.lives = False
        self._note(f"run {life.number} was killed: {answer}")
        COUNTED["kills"] += 1
        return answer


@pytest.mark.parametrize(("count", "steps"), [(examples(60), 30), pytest.param(1_000, 50, marks=pytest.mark.slow)])
def test_nothing_is_lost_whichever_process_is_killed(count: int, steps: int, tmp_path: Path) -> None:
    COUNTED.clear()
    BROKEN.clear()
    bounds = settings(
        max_examples=count,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )

    NothingLost.folder = tmp_path
    run_state_machine_as_test(NothingLost, settings=bounds)
    assert not BROKEN, BROKEN[0]
    assert COUNTED["kills"] > 0
    assert COUNTED["drops"] > 0
