"""Arguments and options of the batch commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from crawler_dedup.cli.options import Option, group_options
from crawler_dedup.config import Config
from crawler_dedup.system.extras import require_extra

if TYPE_CHECKING:
    from crawler_dedup.batch.readers.records import Columns

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_ORDERS = ("time", "size", "chars")
_FORMATS = ("warc", "wacz", "jsonl", "parquet")

_Command = TypeVar("_Command", bound=Callable[..., Any])

inputs_argument = click.argument(
    "inputs", nargs=-1, required=True, metavar="INPUT...", type=click.Path(exists=True, path_type=Path)
)
mark_option = click.option(
    "--mark",
    metavar="NAME",
    default="",
    help="Leave no page out, and add a column with the identifier of the page that is kept in its place.",
)
strict_option = click.option(
    "--strict", is_flag=True, help="Do not copy a file with damaged parts, rather than leave these parts out."
)


def parse_size(_: click.Context, __: click.Parameter, value: str) -> int:
    """Return the bytes of ``8G`` or ``500M``. Raises :class:`click.BadParameter`."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)B?", value.strip().upper())
    if not match:
        raise click.BadParameter(f"{value!r} is no size; write 500M or 8G.")
    return int(float(match[1]) * _UNITS[match[2]])


def check_order(_: click.Context, __: click.Parameter, value: str) -> str:
    """Return *value*. Raises :class:`click.BadParameter` if it names no order: now, and not after hours of work."""
    if value and value.removeprefix("-") not in _ORDERS:
        raise click.BadParameter(f"{value!r} is none of {', '.join(_ORDERS)}, also with a minus.")
    return value


@dataclass(frozen=True)
class Reading:
    """The values of :func:`reading_options`: how pages are read and signed."""

    input_format: str | None
    html: str
    text: str
    url: str
    identifier: str
    time: str
    scope: str

    @property
    def columns(self) -> Columns:
        """Places of the parts of a page."""
        from crawler_dedup.batch.readers.records import Columns  # noqa: PLC0415  (needs an extra)

        return Columns(self.html, self.text, self.url, self.identifier, self.time)


@dataclass(frozen=True)
class Search:
    """The values of :func:`finding_options`: how duplicates are found."""

    max_distance: int | None
    order: str
    profiles: Path | None
    against: Path | None
    memory: int

    def limit_distance(self, config: Config) -> Config:
        """Return *config* with the distance of ``--max-distance``, if that is given."""
        return config if self.max_distance is None else replace(config, max_distance=self.max_distance)


def output_option(metavar: str, text: str) -> Callable[[_Command], _Command]:
    """Return the option for the directory into which a command writes, which *text* explains."""
    return click.option(
        "--output", "-o", metavar=metavar, required=True, type=click.Path(file_okay=False, path_type=Path), help=text
    )


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how pages are read and signed: the argument ``reading``, a :class:`Reading`."""
    return group_options(command, "reading", Reading, _READING)


def finding_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how duplicates are found: the argument ``search``, a :class:`Search`."""
    return group_options(command, "search", Search, _FINDING)


_READING: Sequence[Option] = (
    click.option(
        "--format",
        "input_format",
        type=click.Choice(_FORMATS),
        help="Format of all inputs.  [default: as their names say]",
    ),
    click.option("--html", metavar="NAME", default="html", show_default=True, help="Column with the HTML."),
    click.option("--text", metavar="NAME", default="", help="Column with plain text, which is read instead of HTML."),
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
        help="Column with the time: seconds since 1970, 2026-11-22T18:00:00Z, or a timestamp of Parquet. WARC has it in"
        " its records.",
    ),
    click.option(
        "--scope",
        metavar="SCOPE",
        default="",
        help='Pages are compared within their scope; "domain": within their registered domain, "language": in their'
        " language.  [default: as DEDUP_SCOPE says; without a spider, its default is global]",
    ),
)
_FINDING: Sequence[Option] = (
    click.option("--max-distance", metavar="K", type=click.IntRange(0), help="As DEDUP_MAX_DISTANCE."),
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
        metavar="EXPORT|SIGNED",
        type=click.Path(exists=True, path_type=Path),
        help="An exported index, or another directory of signed pages: these pages are kept already.",
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


def require_batch() -> None:
    """Raise :class:`ExtraMissing` unless the packages are installed that a batch job needs."""
    require_extra("batch", "crawler-dedup batch")
