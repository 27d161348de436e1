"""``crawler-dedup index verify``: check an index for damage, and repair it."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Mapping
from contextlib import closing
from multiprocessing.connection import Connection

import click

from crawler_dedup.cli.jsonlines import print_json
from crawler_dedup.cli.jsontypes.index import IndexProblem
from crawler_dedup.cli.options import index_argument, json_option
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.cli.project import find_existing_index
from crawler_dedup.cli.terminal import OUT_OF_MEMORY
from crawler_dedup.config import Config
from crawler_dedup.errors import ConfigError, DedupError, IndexDamaged
from crawler_dedup.index import maintenance
from crawler_dedup.index.location import Location
from crawler_dedup.signing.lookup import Lookup, lookup_of
from crawler_dedup.signing.signer import config_from_spec
from crawler_dedup.system.interrupts import interrupts_blocked


@click.command
@index_argument
@click.option("--repair", is_flag=True, help="Repair the index if it is damaged.")
@json_option
def verify(index: Location | None, repair: bool, json: bool) -> None:
    """Check an index for damage, and repair it.

    INDEX is the directory of the index, or its address on a server; without it, the index of this Scrapy project is used.
    Every bucket is compared with the records. A repair rebuilds everything from the records, and removes records that
    cannot be read; in an index of bare signatures it keeps every signature that is in any table. If it is interrupted, an
    index in a directory stays as it was; on a server it has to be repeated.

    Exit status 0: the index is sound, or was repaired. 1: it is damaged. 2: it cannot be read.

    \b
    Examples:
      crawler-dedup index verify
      crawler-dedup index verify .scrapy/dedup --repair
    """
    try:
        location = find_existing_index(index)
    except IndexDamaged as error:
        problems = remaining = [str(error)]
    else:
        problems = _verify_in_child(location, repair=False)
        remaining = _verify_in_child(location, repair=True) if problems and repair else problems
    if json:
        print_json(IndexProblem(message=message, repaired=False) for message in remaining)
        print_json(IndexProblem(message=message, repaired=True) for message in problems if not remaining)
    else:
        for message in problems:
            click.echo(message)
        if not problems:
            click.echo("The index is sound.")
        elif repair:
            click.echo("; ".join(remaining) or "Repaired.")
    raise click.exceptions.Exit(1 if remaining else 0)


def _verify_in_child(location: Location, *, repair: bool) -> list[str]:
    """Return messages about the damage of an index, with *repair* after a repair.

    This is done in another process, because LMDB can crash on a damaged file.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_verify_and_send, args=(location, repair, sender))
    with interrupts_blocked():
        child.start()
    sender.close()
    try:
        problems: list[str] | DedupError | OSError = receiver.recv()
    except EOFError:
        child.join()
        code = child.exitcode or 0
        cause = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        problems = [f"The index is damaged: reading it crashed ({cause})."]
    except KeyboardInterrupt:
        child.terminate()
        raise
    finally:
        child.join()
    if isinstance(problems, Exception):
        raise problems
    return problems


def _verify_and_send(location: Location, repair: bool, sender: Connection) -> None:
    problems: list[str] | DedupError | OSError
    try:
        with closing(maintenance.open_index(location)) as opened, progress_bars() as start:
            if repair:
                maintenance.repair(opened, _filing_of, start("repairing", _length(opened)))
            problems = maintenance.verify(opened, _filing_of, start("verifying", _length(opened)))
    except IndexDamaged as error:
        problems = [str(error)]
    except (DedupError, OSError) as error:
        problems = error
    except MemoryError:
        problems = DedupError(OUT_OF_MEMORY)
    sender.send(problems)


def _filing_of(spec: Mapping[str, str]) -> Lookup:
    """Return how the pages of an index are filed, given the spec in its header; check what the spec names."""
    try:
        config_from_spec(spec, Config())
        return lookup_of(spec)
    except ConfigError as error:
        raise IndexDamaged(
            f"The header of the index is damaged, or names something that is not installed here: {error}"
        ) from error


def _length(index: maintenance.AnyIndex) -> int | None:
    """Return how many entries *index* has; ``None`` if its count is damaged, which a repair corrects."""
    try:
        return len(index)
    except IndexDamaged:
        return None
