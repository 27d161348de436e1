"""Arguments and options of the batch commands."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from crawler_dedup.system.extras import require_extra

if TYPE_CHECKING:
    from crawler_dedup.batch.readers.records import Columns

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_ORDERS = ("time", "size", "chars")
_FORMATS = ("warc", "jsonl", "parquet")

_Command = TypeVar("_Command", bound=Callable[..., Any])

inputs_argument = click.argument(
    "inputs", nargs=-1, required=True, metavar="INPUT...", type=click.Path(exists=True, path_type=Path)
)
format_option = click.option(
    "--format", "input_format", type=click.Choice(_FORMATS), help="Format of all inputs.  [default: as their names say]"
)


jobs_option = click.option(
    "--jobs",
    "-j",
    metavar="N",
    type=click.IntRange(1),
    default=lambda: os.cpu_count() or 1,
    show_default="number of processors",
    help="Number of processes.",
)
mark_option = click.option(
    "--mark",
    metavar="NAME",
    default="",
    help="Leave no page out, and add a column with the identifier of the page that is kept in its place.",
)


def parse_size(_: click.Context, __: click.Parameter, value: str) -> int:
    """Return the bytes of ``8G`` or ``500M``. Raises :class:`click.BadParameter`."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)B?", value.strip().upper())
    if not match:
        raise click.BadParameter(f"{value!r} is no size; write 500M or 8G.")
    return int(float(match[1]) * _UNITS[match[2]])


def check_order(_: click.Context, __: click.Parameter, value: str) -> str:
    """Return *value*. Raises :class:`click.BadParameter` where it names no order, before hours of work."""
    if value and value.removeprefix("-") not in _ORDERS:
        raise click.BadParameter(f"{value!r} is none of {', '.join(_ORDERS)}, also with a minus.")
    return value


def reading_options(command: _Command) -> _Command:
    """Add the options that say how pages are read and signed."""
    for option in reversed(
        (
            format_option,
            click.option("--html", metavar="NAME", default="html", show_default=True, help="Column with the HTML."),
            click.option(
                "--text", metavar="NAME", default="", help="Column with plain text, which is read instead of HTML."
            ),
            click.option("--url", metavar="NAME", default="url", show_default=True, help="Column with the address."),
            click.option(
                "--id",
                "identifier",
                metavar="NAME",
                default="",
                help="Column (of WARC: header) that identifies a page.  [default: its address]",
            ),
            click.option(
                "--time",
                metavar="NAME",
                default="",
                help="Column with the time: seconds since 1970, or a timestamp of Parquet. WARC has it in its records.",
            ),
            click.option(
                "--scope",
                metavar="SCOPE",
                default="global",
                show_default=True,
                help='Pages are compared within their scope; "domain": within their registered domain, "language": in '
                "their language.",
            ),
        )
    ):
        command = option(command)
    return command


def finding_options(command: _Command) -> _Command:
    """Add the options that say how duplicates are found."""
    for option in reversed(
        (
            click.option(
                "--max-distance",
                metavar="K",
                type=click.IntRange(0),
                help="As DEDUP_MAX_DISTANCE.",
            ),
            click.option(
                "--order",
                metavar="NAME",
                callback=check_order,
                default="",
                help="Decide the pages by time, size or chars, not as they come; -size: the largest first.",
            ),
            click.option(
                "--profiles",
                type=click.Path(dir_okay=False, exists=True, path_type=Path),
                help="An exported index, or profiles.dedup of a job: use what it knows about sites.",
            ),
            click.option(
                "--against",
                metavar="EXPORT",
                type=click.Path(dir_okay=False, exists=True, path_type=Path),
                help="An exported index: its pages are kept already.",
            ),
            click.option(
                "--memory",
                metavar="SIZE",
                callback=parse_size,
                default="8G",
                show_default=True,
                help="Memory that the search may take.",
            ),
        )
    ):
        command = option(command)
    return command


def columns_of(html: str, text: str, url: str, identifier: str, time: str) -> Columns:
    """Return where the parts of a page stand."""
    from crawler_dedup.batch.readers.records import Columns  # noqa: PLC0415  (needs an extra)

    return Columns(html, text, url, identifier, time)


def require_batch() -> None:
    """Raise :class:`ExtraMissing` unless the packages are installed that a batch job needs."""
    require_extra("batch", "crawler-dedup batch")
