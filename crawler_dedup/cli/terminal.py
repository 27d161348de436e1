"""How commands print: errors as messages, and text that cannot steer the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone

import click

from crawler_dedup.errors import DedupError
from crawler_dedup.urls import text_without_credentials

OUT_OF_MEMORY = "There is not enough memory for this."


def printable(text: str) -> str:
    """Remove from *text* the characters that steer a terminal: text of a page must not."""
    return "".join(character for character in text if character.isprintable())


def quantity(count: int, noun: str) -> str:
    """Return ``1 page`` or ``2,000 pages`` for the noun ``page``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def format_time(seconds: float) -> str:
    """Return ``2026-11-21 23:10:02 UTC`` for seconds since 1970."""
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):  # an imported record may say anything
        return f"{seconds} s after 1970"


def print_error(error: object) -> None:
    """Print *error* on stderr."""
    lines = text_without_credentials(f"Error: {error}").split("\n")
    click.echo("\n".join(map(printable, lines)), err=True)


@contextmanager
def errors_as_messages() -> Iterator[None]:
    """Turn what the package and the operating system raise into a message and exit status 2."""
    try:
        yield
    except BrokenPipeError:  # the reader has ended, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.exceptions.Exit(1) from None
    except (DedupError, OSError) as error:
        print_error(error)
        raise click.exceptions.Exit(2) from None
