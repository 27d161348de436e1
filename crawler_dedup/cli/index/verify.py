"""``crawler-dedup index verify``: check an index for damage."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Mapping
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path

import click

from crawler_dedup.cli.options import index_argument, json_option
from crawler_dedup.cli.progress import progress_bars
from crawler_dedup.cli.project import find_directory, find_existing_index
from crawler_dedup.cli.terminal import OUT_OF_MEMORY, print_json
from crawler_dedup.config import Config
from crawler_dedup.errors import ConfigError, DedupError, IndexDamaged
from crawler_dedup.index import maintenance
from crawler_dedup.index.lmdb.store import Store
from crawler_dedup.index.location import Location
from crawler_dedup.signing.lookup import Lookup, lookup_of
from crawler_dedup.signing.signer import config_from_spec
from crawler_dedup.system.processes import interrupts_blocked

_WAY_OUT = "The index is damaged. `crawler-dedup index verify --help` says how to replace it."


@click.command
@index_argument
@json_option
def verify(index: Location | None, json: bool) -> None:
    """Check an index for damage. Nothing is changed.

    INDEX is the directory of the index; without it, the index of this Scrapy project is used. Every bucket is compared with
    the records. To replace a damaged index, export it, and import the file into a new directory: the export contains
    everything that can be read.

    Exit status 0: the index is sound. 1: it is damaged. 2: it cannot be read.

    \b
    Examples:
      crawler-dedup index verify
      crawler-dedup index verify .scrapy/dedup
    """
    directory = find_directory(index)
    try:
        find_existing_index(directory)
    except IndexDamaged as error:
        problems = [str(error)]
    else:
        problems = _verify_in_child(directory)
    if json:
        print_json("index_problem", ({"message": message} for message in problems))
    else:
        for message in problems:
            click.echo(message)
        click.echo(_WAY_OUT if problems else "The index is sound.")
    raise click.exceptions.Exit(1 if problems else 0)


def _verify_in_child(directory: Path) -> list[str]:
    """Return messages about the damage of an index.

    This is done in another process, because LMDB can crash on a damaged file.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_verify_and_send, args=(directory, sender))
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


def _verify_and_send(directory: Path, sender: Connection) -> None:
    problems: list[str] | DedupError | OSError
    try:
        with closing(Store.attach(directory)) as opened, progress_bars() as start:
            advance = start("verifying", maintenance.count_entries(opened))
            problems = opened.verify(_filing_of(opened.header.spec), advance)
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
