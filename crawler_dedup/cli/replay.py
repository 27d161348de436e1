"""``crawler-dedup replay``: decide the dropped pages in WARC files again, with other settings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
import msgspec

from crawler_dedup.cli.options import index_argument, json_option, settings_option
from crawler_dedup.cli.project import TargetOptions, read_config
from crawler_dedup.cli.terminal import print_json, print_note, printable, quantity
from crawler_dedup.config.settings import setting_name
from crawler_dedup.decision import Decision, Verdict
from crawler_dedup.index import opening
from crawler_dedup.index.decider import RunContext
from crawler_dedup.index.index import Index
from crawler_dedup.index.location import Location
from crawler_dedup.rules.matcher import RuleMatcher
from crawler_dedup.signing.signer import Signer, config_from_spec
from crawler_dedup.system.extras import require_extra

if TYPE_CHECKING:
    from crawler_dedup.warc.droppedpage import DroppedPage

_EXAMPLES = 3
_REPLAYED = ("max_distance", "never_drop", "expire_days")
"""The settings that can be other ones. Signatures and scopes depend on others, and those of kept pages are in the index."""


@dataclass(frozen=True)
class _Change:
    """The decisions about the page at *url* with the present and with the other settings."""

    url: str
    present: Decision
    other: Decision


@click.command()
@index_argument
@json_option
@settings_option("DEDUP_MAX_DISTANCE=3")
def replay(index: Location | None, json: bool, settings: Sequence[str]) -> None:
    """Try other settings on dropped pages that crawls have saved.

    The pages are those in the WARC files that crawls with DEDUP_DROPPED_WARC have written. For each, the decision is
    made twice with the index as it is now: with the present settings, and with those of -s. The command lists what
    would change, by rule, with three examples of each, and changes nothing. INDEX is the directory of the index, or its
    address on a server; without it, the index of this Scrapy project is used.

    Only DEDUP_MAX_DISTANCE, DEDUP_NEVER_DROP and DEDUP_EXPIRE_DAYS can be tried: other settings change the signatures or
    scopes of kept pages, too, and these cannot be computed again, because the HTML of kept pages is not stored.

    \b
    Examples:
      crawler-dedup replay -s DEDUP_MAX_DISTANCE=3
      crawler-dedup replay -s DEDUP_NEVER_DROP=https://example.com/minutes/ --json
    """
    require_extra("warc", "crawler-dedup replay")
    from crawler_dedup.warc.droppedpage import read_directory  # noqa: PLC0415  (imports FastWARC)

    allowed = [setting_name(name) for name in _REPLAYED]
    if not settings or not all(word.partition("=")[0] in allowed for word in settings):
        raise click.UsageError(f"-s is needed, and takes {', '.join(allowed)}: nothing else can be replayed.")
    target = TargetOptions(index, settings=settings).find()
    problems: list[str] = []
    stored = read_directory(target.warc_directory, problems)
    counts, changes = Counter[str](), Counter[str]()
    shown = defaultdict[str, list[str]](list)
    with closing(opening.open_index(target.index)) as pages:
        spec = pages.header.spec
        present, other = (Signer(config_from_spec(spec, config)) for config in (read_config(()), target.config))
        changed = _decide_again(stored, pages, present, other, counts)
        if json:
            print_json("change", changed)
        for change in changed:
            before, after = change.present, change.other
            name = f"{_reason(before)} → {_reason(after)}"
            changes[name] += 1
            if changes[name] <= _EXAMPLES:
                shown[name].append(f"  {printable(change.url)} ← {printable(before.duplicate_of)}")
    for problem in problems:
        print_note(problem)
    total = quantity(counts["pages"], "dropped page")
    of_these = "" if json else f", and {changes.total():,} of these change"
    print_note(f"{total} in WARC files; {counts['duplicates']:,} are duplicates with the present settings{of_these}.")
    for name, count in changes.most_common():
        click.echo("\n".join([f"{count:,} × {name}", *shown[name]]))


def _reason(decision: Decision) -> str:
    return f"“{decision.match.rule}”" if decision.match and decision.duplicate_of else str(decision.verdict)


def _decide_again(
    dropped: Iterable[DroppedPage], index: Index, present: Signer, other: Signer, counts: Counter[str]
) -> Iterator[_Change]:
    """Decide each dropped page by *index* as it is now, with the settings of both signers; yield those that change.

    Args:
        counts: gets the number of ``pages``, and of ``duplicates`` by the present settings. The rest would pass now: their
            representative was forgotten, or an override was added.
    """
    deciding = [(RuleMatcher(signer), RunContext.of(signer.config)) for signer in (present, other)]
    for stored in dropped:
        drop = stored.drop
        page, _ = present.sign(drop.url, stored.body, encoding=drop.charset or None, key=drop.key, scope=drop.scope)
        page = msgspec.structs.replace(page, links_followed=drop.links_followed)
        before, after = (index.preview(page, matcher, context) for matcher, context in deciding)
        counts["pages"] += 1
        if before.verdict is Verdict.DUPLICATE:
            counts["duplicates"] += 1
            if before != after:
                yield _Change(drop.url, before, after)
