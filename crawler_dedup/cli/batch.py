"""``crawler-dedup batch``: find the near-duplicates in files of pages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crawler_dedup.cli.options import Option, add_options, jobs_option, settings_option
from crawler_dedup.cli.project import read_config
from crawler_dedup.cli.terminal import progress_bars, quantity
from crawler_dedup.system.extras import require_extra

if TYPE_CHECKING:
    from crawler_dedup.pagetext import Format

_EXTRA = ("batch", "crawler-dedup batch")
_NAMED = 20  # records that a message names
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

_inputs_argument = click.argument(
    "inputs", nargs=-1, required=True, metavar="INPUT...", type=click.Path(exists=True, path_type=Path)
)


def _name_option(name: str, text: str, default: str = "") -> Option:
    """Return an option for the NAME of a column."""
    return click.option(name, metavar="NAME", default=default, show_default=bool(default), help=text)


_mark_option = _name_option(
    "--mark",
    "Copy all pages, and add a column NAME, which the inputs must not have: for a near-duplicate, the identifier of the page"
    " that is kept instead of it. Not for WARC files.",
)
_own_text_option = click.option(
    "--own-text",
    type=click.Choice(("text", "markdown")),
    help="Add a column own_text: the text of each page without menus, footers and whatever else the site repeats. Not"
    " for WARC files.",
)
_strict_option = click.option(
    "--strict", is_flag=True, help="Do not copy a file that has damaged parts. By default, these parts are left out."
)


def _parse_size(_: click.Context, __: click.Parameter, value: str) -> int:
    """Return the bytes of ``8G`` or ``500M``. Raises :class:`click.BadParameter`."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)B?", value.strip().upper())
    if not match:
        raise click.BadParameter(f"{value!r} is not a size; write 500M or 8G.")
    return int(float(match[1]) * _UNITS[match[2]])


def _output_option(metavar: str, text: str) -> Option:
    """Return the option for the directory into which a command writes, which *text* explains."""
    return click.option(
        "--output", "-o", metavar=metavar, required=True, type=click.Path(file_okay=False, path_type=Path), help=text
    )


_READING: Mapping[str, Option] = {
    "input_format": click.option(
        "--format",
        "input_format",
        type=click.Choice(("warc", "jsonl", "parquet")),
        help="Format of all inputs.  [default: by their names]",
    ),
    "html": _name_option("--html", "Column with the HTML.", "html"),
    "text": _name_option("--text", "Column with plain text, which is read instead of HTML."),
    "url": _name_option("--url", "Column with the address.", "url"),
    "id": _name_option(
        "--id", "Column that identifies a page; in WARC files, a header of its record.  [default: its address]"
    ),
    "time": _name_option(
        "--time",
        "Column with the time, for --order: seconds since 1970, 2026-11-22T18:00:00Z, or a timestamp of Parquet. WARC has"
        " it in its records.",
    ),
    "scope": click.option(
        "--scope",
        metavar="SCOPE",
        default="",
        help="Which pages are compared with each other: domain (those of the same registered domain), language (those in the"
        " same language), global (all), or a name of your choice: the pages are compared only with those of that name."
        "  [default: DEDUP_SCOPE; if this is spider, global]",
    ),
}
_FINDING = {
    "order": click.option(
        "--order",
        metavar="NAME",
        type=click.Choice([f"{sign}{order}" for order in ("time", "size", "chars") for sign in ("", "-")]),
        help="Which of several near-duplicates is kept: time keeps the oldest, size the smallest (bytes), chars the one with"
        " the shortest main text; -time, -size and -chars the opposite.  [default: the first of the inputs]",
    ),
    "profiles": click.option(
        "--profiles",
        type=click.Path(dir_okay=False, exists=True, path_type=Path),
        help="Decide with what this file knows about the sites, instead of learning it from these pages: an exported index,"
        " or the file profiles.dedup in DECISIONS of an earlier `batch find`.",
    ),
    "against": click.option(
        "--against",
        metavar="EXPORT|SIGNED",
        type=click.Path(exists=True, path_type=Path),
        help="Leave out duplicates of the pages of this file or directory, too: an exported index, or other signed pages.",
    ),
    "memory": click.option(
        "--memory",
        metavar="SIZE",
        callback=_parse_size,
        default="8G",
        show_default=True,
        help="Memory that the search may take.",
    ),
}


@click.command()
@_inputs_argument
@_output_option("SIGNED", "Directory for the signed pages (the pages' signatures, not their HTML).")
@add_options(*_READING.values())
@jobs_option
@settings_option("DEDUP_SCHEME=minhash")
def sign(
    inputs: Sequence[Path],
    output: Path,
    input_format: str | None,
    scope: str,
    jobs: int,
    settings: Sequence[str],
    **columns: str,
) -> None:
    """Compute the signatures by which `find` compares the pages of files.

    Each INPUT is a WARC, JSON Lines or Parquet file, or a folder of such files. For each file, the signatures of its pages
    are written to one file in SIGNED (a shard). A second call does this only for files that are new, have changed, or whose
    shard is damaged. Records that cannot be read are counted, and listed beside the shard. The command needs pyarrow and
    FastWARC: pip install "crawler-dedup[batch]".

    \b
    Examples:
      crawler-dedup batch sign crawl.warc.gz -o signed
      crawler-dedup batch sign pages --html body --id key -o signed
      crawler-dedup batch sign corpus.parquet --text text --id id -o signed
    """
    require_extra(*_EXTRA)
    from crawler_dedup.batch.formats.records import Columns  # noqa: PLC0415  (needs an extra)
    from crawler_dedup.batch.sign import sign_collection  # noqa: PLC0415

    with progress_bars() as start:
        signing = sign_collection(
            inputs,
            output,
            read_config(settings),
            start,
            input_format=input_format,
            columns=Columns(**columns),
            scope=scope,
            jobs=jobs,
        )
    before = signing.inputs - signing.signed_now
    click.echo(
        f"{output}: {quantity(signing.pages, 'page')} of {quantity(signing.inputs, 'file')}"
        + (f"; {quantity(before, 'file')} had been signed before." if before else ".")
    )
    for path in signing.damaged:
        click.echo(f"{path} was damaged, and was signed again.", err=True)
    for name in signing.dropped:
        click.echo(
            f"{name} is not among the inputs any more: its signed pages are no longer part of {output}.", err=True
        )
    if signing.ignored:
        click.echo(
            f"Left out, because the name shows no format: {quantity(signing.ignored, 'file')} (see --format).", err=True
        )
    _print_counts("Of these, not signed", signing.unsigned)
    _print_counts("Skipped", signing.passed_over)
    _print_counts("Cannot be read", signing.bad)
    for reason, detail in signing.details.items():
        click.echo(f"  {reason}: {detail}.")


def _print_counts(label: str, counts: Mapping[str, int]) -> None:
    """Print counts by reason on a line, if there are any."""
    if counts:
        click.echo(f"{label}: {', '.join(f'{reason} ({count:,})' for reason, count in counts.items())}.")


@click.command()
@click.argument("signed", metavar="SIGNED", type=click.Path(exists=True, file_okay=False, path_type=Path))
@_output_option("DECISIONS", "Directory for kept.parquet, clusters.parquet, report.json and profiles.dedup.")
@add_options(*_FINDING.values())
@settings_option("DEDUP_MAX_DISTANCE=3")
def find(
    signed: Path,
    output: Path,
    order: str | None,
    profiles: Path | None,
    against: Path | None,
    memory: int,
    settings: Sequence[str],
) -> None:
    """Find the near-duplicates among signed pages.

    SIGNED is a directory that `crawler-dedup batch sign` has written. The command first learns what the pages of each
    site have in common. Then it decides about the pages one after the other, as a crawl does.

    \b
    Examples:
      crawler-dedup batch find signed -o decisions
      crawler-dedup batch find signed -s DEDUP_MAX_DISTANCE=3 -o decisions
    """
    require_extra(*_EXTRA)
    from crawler_dedup.batch.find import find_duplicates  # noqa: PLC0415  (needs an extra)

    config = read_config(settings)
    with progress_bars() as start:
        report = find_duplicates(
            signed, output, config, start, order=order or "", profiles=profiles, against=against, memory=memory
        )
    click.echo(
        f"{output}: {quantity(report.pages, 'page')}, {report.kept:,} kept, {report.pages - report.kept:,} left out."
    )
    _print_counts("Left out by rule", report.rules)
    _print_counts("Kept unchecked", report.unsigned)


@click.command()
@_inputs_argument
@click.option(
    "--decisions",
    metavar="DECISIONS",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Directory that `crawler-dedup batch find` has written.",
)
@_output_option("CLEAN", "Directory for the copies.")
@_mark_option
@_own_text_option
@_strict_option
@jobs_option
def apply(
    inputs: Sequence[Path], decisions: Path, output: Path, mark: str, own_text: Format | None, strict: bool, jobs: int
) -> None:
    """Copy files, and leave out the near-duplicates.

    Each INPUT is a file that `batch sign` has read, or a folder of such files. Its copy has the same format. A copy of a
    WARC file has a metadata record for each page that is left out.

    \b
    Examples:
      crawler-dedup batch apply crawl.warc.gz --decisions decisions -o clean
      crawler-dedup batch apply pages --decisions decisions -o all --mark copy_of
      crawler-dedup batch apply pages --decisions decisions -o all --own-text text
    """
    require_extra(*_EXTRA)
    from crawler_dedup.batch.apply import apply_decisions  # noqa: PLC0415  (needs an extra)

    with progress_bars() as start:
        applied = apply_decisions(
            inputs, decisions, output, start, mark=mark, own_text=own_text, strict=strict, jobs=jobs
        )
    click.echo(
        f"{output}: {quantity(applied.files, 'file')}, {quantity(applied.left_out, 'page')}"
        f" {'marked' if mark else 'left out'}."
    )
    for name, count in applied.damaged.items():
        click.echo(f"{name} is damaged in {quantity(count, 'place')}: what cannot be read is left out.", err=True)
        if names := applied.cut_off[name]:
            click.echo(f"  Cut off: {', '.join(names[:_NAMED])}{', …' * (len(names) > _NAMED)}.", err=True)


@click.command()
@_inputs_argument
@_output_option("DIR", "Directory for the folders signed, decisions and clean.")
@add_options(*_READING.values())
@add_options(*_FINDING.values())
@_mark_option
@_own_text_option
@_strict_option
@jobs_option
@settings_option("DEDUP_MAX_DISTANCE=3")
@click.pass_context
def run(context: click.Context, /, inputs: Sequence[Path], output: Path, jobs: int, **options: Any) -> None:
    """Run sign, find and apply, one after the other.

    Each INPUT is a WARC, JSON Lines or Parquet file, or a folder of such files. The output directory gets three folders:
    `signed` with the signed pages, `decisions` with what is kept, and `clean` with copies of the files without
    near-duplicates. A second call computes signatures only of files that are new or have changed.

    \b
    Examples:
      crawler-dedup batch run crawl.warc.gz -o job
      crawler-dedup batch run corpus.parquet --text text --id id -o job
    """
    signed, decisions, clean = (output / name for name in ("signed", "decisions", "clean"))
    settings = options["settings"]
    reading, finding = ({name: options[name] for name in names} for names in (_READING, _FINDING))
    context.invoke(sign, inputs=inputs, output=signed, jobs=jobs, settings=settings, **reading)
    context.invoke(find, signed=signed, output=decisions, settings=settings, **finding)
    copying = {name: options[name] for name in ("mark", "own_text", "strict")}
    context.invoke(apply, inputs=inputs, decisions=decisions, output=clean, jobs=jobs, **copying)
