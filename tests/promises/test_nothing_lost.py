"""The promise of the index, tested with real processes and ``kill -9``: a page is dropped only if a page that covers it
is stored, or its run can still say otherwise.

A model says which answers are right. Where a process was killed before it answered, either outcome is.
"""

import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from crawler_dedup import Config, Decision, Deduplicator, SignedPage, Verdict
from crawler_dedup.decision import BEING_HANDLED
from crawler_dedup.index import opening
from crawler_dedup.index.runs import RecordState
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
URLS = tuple(
    f"http://{host}.example/" for host in "abc"
)  # on one known host the rules look at more than the model does


def covers(kept: int, new: int) -> bool:
    """Return whether content *kept* represents *new*, directly or through other contents."""
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


def test_the_rules_agree_with_the_model_about_which_pages_are_covered() -> None:
    for new in CONTENTS:
        for kept in CONTENTS:
            pair = Pair(signed(new, URLS[0]), signed(kept, URLS[1]), _signer().config, _signer().scheme)
            assert (table.compare(pair) is not None) == covers(kept, new)


# The model


@dataclass
class Life:
    """A run in the model.

    Attributes:
        worker: its process.
        behind: how much the system's clock was behind when it began; it is not set while it lasts.
        last: the time of its last sign of life; from the least to the most that it may have written.
        has_ended: whether it was closed; ``None``: it was killed while it was being closed.
        open: decisions by which a page has passed that was not handled yet, with its content.
        buffer: contents that it has stored, and when they will be on disk.
        owed: contents that must be stored in the end if it ends well.
    """

    number: int
    grace: int
    worker: Worker
    behind: float = 0.0
    last: tuple[int, int] = (0, 0)
    lives: bool = True
    has_ended: bool | None = False
    open: list[tuple[Decision, int]] = field(default_factory=list)
    buffer: list[tuple[int, float]] = field(default_factory=list)
    owed: list[int] = field(default_factory=list)

    def touch(self, now: float) -> None:
        self.last = max(self.last[0], int(now - self.behind)), max(self.last[1], int(now - self.behind))

    def may_have_touched(self, now: float) -> None:
        self.last = self.last[0], max(self.last[1], int(now - self.behind))


@dataclass(frozen=True)
class Kept:
    """A record of the index in the model."""

    content: int
    life: int
    claim: int
    settled: int | None = None


_UNKNOWN = -1
"""The claim of a page about which a killed process had no answer. Nobody can settle it."""

Options = frozenset[Kept | None]
Records = dict[str, Options]
_NOTHING: Options = frozenset([None])


class Model:
    """What may stand in the index: of each address one or several records, or none."""

    def __init__(self) -> None:
        self.lives: dict[int, Life] = {}
        self.records: Records = dict.fromkeys(URLS, _NOTHING)

    def states(self, kept: Kept) -> set[RecordState]:
        """Return what may have become of a record: one, unless a process was killed before it answered."""
        life = self.lives[kept.life]
        if life.lives:
            return {RecordState.CLAIMED if kept.settled is None else RecordState.ACTIVE}
        if kept.settled is None:
            return {RecordState.VOID}
        possible = set()
        if life.has_ended is not True:
            # The run died at its last sign of life or later. Pages settled more than the grace before that are on disk.
            possible = {
                RecordState.VOID if life.grace and kept.settled >= last - life.grace else RecordState.ACTIVE
                for last in life.last
            }
        return possible | ({RecordState.ACTIVE} if life.has_ended is not False else set())

    def after_offer(
        self, records: Records, life: int, page: _Page, decision: Decision | type[Nothing]
    ) -> Records | None:
        """Return what may stand after an answer, or no answer; ``None`` where the answer is wrong."""
        content, url = page
        if not isinstance(decision, Decision):
            return {**records, url: records.get(url, _NOTHING) | {None, Kept(content, life, _UNKNOWN)}}
        answer = BEING_HANDLED if decision.reason == BEING_HANDLED else str(decision.verdict)
        if answer not in self._allowed(records, content, url):
            return None
        after: Options
        if decision.verdict is Verdict.UNCHANGED:
            wanted = RecordState.CLAIMED if decision.claim else RecordState.ACTIVE
            known = [
                kept for kept in records[url] if kept and covers(kept.content, content) and wanted in self.states(kept)
            ]
            if not known:
                return None
            # A page that is recorded by a run which is over may pass to the run that visits it again.
            moved = [replace(kept, life=life, claim=0) for kept in known if not self.lives[kept.life].lives]
            after = frozenset([*known, *moved])
        if decision.claim:
            after = frozenset([Kept(content, life, decision.claim)])
        elif decision.verdict is not Verdict.UNCHANGED:
            after = _NOTHING
            wanted = RecordState.CLAIMED if answer == BEING_HANDLED else RecordState.ACTIVE
            if not any(wanted in states for states in self._of(records, decision.duplicate_of, content)):
                return None
        return {**records, url: after}

    def _allowed(self, records: Records, content: int, url: str) -> set[str]:
        """Return the answers that are right."""
        verdicts: set[str] = set()
        for kept in records.get(url, _NOTHING):
            for state in self.states(kept) if kept else [RecordState.VOID]:
                if state is RecordState.VOID:
                    verdicts |= self._compared(records, content, url)
                else:
                    verdicts.add("unchanged" if covers(kept.content, content) else "changed")  # type: ignore[union-attr]
        return verdicts

    def _compared(self, records: Records, content: int, url: str) -> set[str]:
        states_of_others = [self._of(records, key, content) for key in records if key != url]
        if any(all(states == {RecordState.ACTIVE} for states in states_of_page) for states_of_page in states_of_others):
            return {"duplicate"}
        verdicts = (
            {"duplicate"}
            if any(RecordState.ACTIVE in states for states_of_page in states_of_others for states in states_of_page)
            else set()
        )
        if any(RecordState.CLAIMED in states for states_of_page in states_of_others for states in states_of_page):
            verdicts.add(BEING_HANDLED)
        if not any(
            all(states == {RecordState.CLAIMED} for states in states_of_page) for states_of_page in states_of_others
        ):
            verdicts.add("new")
        return verdicts

    def _of(self, records: Records, url: str, content: int) -> list[set[RecordState]]:
        """Return what each possible record of *url* is for a page with *content*; nothing if it does not cover it."""
        return [
            self.states(kept) if kept and covers(kept.content, content) else set()
            for kept in records.get(url, _NOTHING)
        ]

    def end_claim(
        self, life: Life, decision: Decision, now: float, settled: bool, answer: bool | type[Nothing]
    ) -> bool:
        """Take the end of a claim into the model; whether the answer is right."""
        options = self.records.get(decision.key, _NOTHING)
        if not decision.claim:
            return self._end_without_claim(decision.key, options, settled, answer)
        claim = life.number, decision.claim
        claimed = next((kept for kept in options if kept and (kept.life, kept.claim) == claim), None)
        if not isinstance(answer, bool):
            if claimed is not None:
                life.may_have_touched(now)
                after = replace(claimed, settled=life.last[1]) if settled else None
                self.records[decision.key] = options | {after}
            return True
        if answer:
            if claimed is None:
                return False
            if settled:
                life.touch(now)
            self.records[decision.key] = frozenset([replace(claimed, settled=life.last[1]) if settled else None])
            return True
        self.records[decision.key] = options - {claimed} if claimed is not None else options
        return options != {claimed} or claimed is None

    def _end_without_claim(self, url: str, options: Options, settled: bool, answer: bool | type[Nothing]) -> bool:
        if not settled:  # whatever is recorded of the page is forgotten
            self.records[url] = _NOTHING if isinstance(answer, bool) else options | {None}
        may_be_gone = any(kept is None or RecordState.VOID in self.states(kept) for kept in options)
        return not isinstance(answer, bool) or (may_be_gone if not answer else options != _NOTHING)


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
        self._model = Model()
        self._slots = [Slot(Life(-1, 0, cast("Worker", None), lives=False)) for _ in range(3)]
        self._grace = 60
        self._true = 1_700_000_000.7
        self._behind = 0.0
        self._stored: set[int] = set()
        self._owed: set[int] = set()
        self._sound = True
        self._history: list[str] = []
        COUNTED["examples"] += 1

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
            COUNTED["kills in the middle of opening"] += 1

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

    @rule(pages=st.tuples(_VISITS, _VISITS, _VISITS))
    def offer_by_all(self, pages: Sequence[Sequence[_Visit]]) -> None:
        for slot, page in enumerate(pages):
            self.offer(slot, page)

    @rule(slot=_SLOTS, page=_PAGES, pause=_PAUSES, fraction=_FRACTIONS, tidied=st.booleans())
    def handle_one_before_the_death(self, slot: int, page: _Page, pause: _Pause, fraction: float, tidied: bool) -> None:
        """Kill a process after it has handled a page; what is lost depends on the time between, and on the last offer."""
        self.offer(slot, [(page, "handled", fraction, (0.0, 0)), (page, "later", fraction, pause)])
        self._pass(*pause)
        self.offer(slot, [(page, "later", fraction, (0.0, 0))])
        self.kill(slot, not tidied)
        if tidied:
            self.tidy(slot, None)
            self.offer(slot, [(page, "later", fraction, (0.0, 0))])

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
            self._kill_in_the_middle(life, delay)

    @rule(slot=_SLOTS, delay=_PERHAPS)
    def close(self, slot: int, delay: float | None) -> None:
        living = self._living(slot)
        life = living.life
        if life.lives and delay is None:
            self._close(living)
        elif life.lives and delay is not None:
            self._flush(life)
            life.worker.send("close", self._now)
            answer = self._kill_in_the_middle(life, delay)
            life.has_ended = None if answer is Nothing else True

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
            self._explain(life, page, self._kill_in_the_middle(life, delay))

    @rule(slot=_SLOTS, place=st.integers(0, 5), is_handled=st.booleans(), fraction=_FRACTIONS, delay=_DELAYS)
    def kill_while_handling(self, slot: int, place: int, is_handled: bool, fraction: float, delay: float) -> None:
        life = self._living(slot).life
        if life.lives and life.open:
            decision, content = life.open.pop(place % len(life.open))
            if is_handled:
                self._store(life, content, fraction)
            life.worker.send("settle" if is_handled else "release", self._now, decision)
            answer = self._kill_in_the_middle(life, delay)
            self._end_claim(life, decision, is_handled, answer)

    @rule(pause=_PAUSES)
    def clock(self, pause: _Pause) -> None:
        self._pass(*pause)

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
        number = len(self._model.lives)
        slot.life = self._model.lives[number] = Life(number, self._grace, worker, self._behind)
        worker.send("open", self._now, (self._directory, self._grace))
        worker.answer()
        self._note(f"run {number} starts")
        COUNTED["starts"] += 1
        pages, slot.pages = slot.pages, []
        if pages:
            COUNTED["restarts"] += 1
        rest = list(dict.fromkeys(pages))
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
        """Take an answer, or none if the process was killed before it, into the model."""
        content, url = page
        self._note(f"run {life.number} offers {content} at {url}: {decision}, claim {getattr(decision, 'claim', None)}")
        if isinstance(decision, Decision):
            life.touch(self._true)
            COUNTED["answers"] += 1
            COUNTED["drops"] += not decision.passes
            COUNTED["pages alike to one that is being handled"] += decision.reason == BEING_HANDLED
            if decision.passes:
                life.open.append((decision, content))
            else:
                life.owed.append(content)
        else:
            life.may_have_touched(self._true)
        lives, life.lives = life.lives, True  # when it answered
        records = self._model.after_offer(self._model.records, life.number, page, decision)
        life.lives = lives
        self._require(records is not None, self._model.records, *self._model.lives.values())
        self._model.records = records or {}

    def _handle(self, slot: Slot, place: int, is_handled: bool, fraction: float) -> None:
        """Let the process store and settle a page that has passed, or neither."""
        life = slot.life
        decision, content = life.open.pop(place)
        if is_handled:
            self._store(life, content, fraction)
            life.owed.append(content)
        life.worker.send("settle" if is_handled else "release", self._now, decision)
        self._end_claim(life, decision, is_handled, life.worker.answer())

    def _end_claim(self, life: Life, decision: Decision, is_handled: bool, answer: Any) -> None:
        self._note(f"run {life.number} ends claim {decision.claim} of {decision.url}, handled: {is_handled}: {answer}")
        self._require(self._model.end_claim(life, decision, self._true, is_handled, answer), self._model.records)

    def _store(self, life: Life, content: int, fraction: float) -> None:
        """Let *content* be on disk after a *fraction* of the grace."""
        life.buffer.append((content, self._true + fraction * life.grace))
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
        life.lives, life.has_ended = False, True
        self._owed.update(life.owed)
        slot.pages = []
        COUNTED["closed"] += 1

    def _kill_in_the_middle(self, life: Life, delay: float) -> Any:
        """Kill a process that has something to do; returns its answer, if it came so far."""
        time.sleep(delay / 1000)
        answer = self._kill(life)
        COUNTED["kills in the middle"] += 1
        COUNTED["kills in the middle, after the answer"] += answer is not Nothing
        return answer

    def _kill(self, life: Life) -> Any:
        answer = life.worker.kill()
        life.lives = False
        COUNTED["items lost with their process"] += len(life.buffer)
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
    print("\n" + ", ".join(f"{count} {name}" for name, count in COUNTED.items()))
    assert not BROKEN, BROKEN[0]
    assert COUNTED["kills"] > 0
    assert COUNTED["drops"] > 0
