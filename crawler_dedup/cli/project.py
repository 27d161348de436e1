"""The Scrapy project around the working directory: its settings, its index and the journals; ``crawler-dedup settings``."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crawler_dedup.cli.options import gather_options, index_argument, journal_option, parse_pairs, settings_option
from crawler_dedup.cli.terminal import print_note
from crawler_dedup.config import PREFIX, Config, nearest_settings, setting_name
from crawler_dedup.config.settings import declared_types
from crawler_dedup.config.values import describe_values
from crawler_dedup.errors import ConfigError, DedupError
from crawler_dedup.index.location import Location, find_location
from crawler_dedup.inspection.journals import Journals
from crawler_dedup.journal.paths import journal_path

if TYPE_CHECKING:
    from crawler_dedup.inspection.dropped import StoredPages

JUDGED = "judged"
"""Folder in the directory of an index: the answers of ``crawler-dedup judge``."""


@dataclass(frozen=True)
class Target:
    """The index on which a command works.

    Attributes:
        index: where the index is.
        directory: where its journals and the answers of ``crawler-dedup judge`` are; for an index on a server, the
            directory of this project.
        config: the settings of the project, with those of the command line.
        journals: the journals of the index.
    """

    index: Location
    directory: Path
    config: Config
    journals: Journals

    @property
    def warc_directory(self) -> Path:
        """Where the WARC files of dropped pages are: beside the index or, if it is on a server, beside the journal."""
        journal = journal_path(self.config.journal, self.directory)
        return self.directory if isinstance(self.index, Path) or journal is None else journal.parent

    def find_stored(self) -> StoredPages:
        """Find the dropped pages in WARC files; print a sentence about a file that cannot be read to its end."""
        from crawler_dedup.inspection.dropped import StoredPages  # noqa: PLC0415  (slow to load)

        stored = StoredPages(self.warc_directory)
        stored.refresh()
        for problem in stored.problems:
            print_note(problem)
        return stored


@dataclass(frozen=True)
class TargetOptions:
    """The values of :data:`target_options`, which name the index on which a command works.

    Attributes:
        index: the index; ``None``: that of the project.
        journal: files of the journal; none: those beside the index.
        settings: ``NAME=VALUE`` words, which take precedence over the settings of the project.
    """

    index: Location | None
    journal: Sequence[Path] = ()
    settings: Sequence[str] = ()

    def find(self, *, needs_journal: bool = False) -> Target:
        """Find the index, the settings and the journals.

        Args:
            needs_journal: whether there must be a journal.

        Raises:
            DedupError: there is no index, no project, or no journal; a setting is not allowed.
        """
        config = read_config(self.settings)
        index = find_index(self.index, config)
        directory = index if isinstance(index, Path) else usual_directory(config)
        journals = self.find_journals(directory, config)
        if needs_journal and not journals.files:
            raise DedupError(
                f"There is no journal beside the index in {directory}: no crawl has written one, or DEDUP_JOURNAL"
                " was empty or names another file. If there is such a file, name it with --journal."
            )
        return Target(index, directory, config, journals)

    def find_journals(self, directory: Path, config: Config) -> Journals:
        """Find the journals that are there now."""
        return Journals(self.journal) if self.journal else Journals.beside(directory, config.journal)


target_options = gather_options(
    "options", TargetOptions, index_argument, journal_option, settings_option("DEDUP_DIR=other")
)
"""Decorator that gives a command the argument ``options``, :class:`TargetOptions`."""


def find_index(index: Location | None, config: Config | None = None, *, must_exist: bool = True) -> Location:
    """Return the location of the index that a command names, or of the index of the project.

    Args:
        index: its location; ``None``: the index of the project.
        config: the settings, if they are read already.

    Raises:
        IndexDamaged: the index must exist, and its file is missing or empty, but journals are beside it.
        DedupError: no index is named, and there is no project; a setting is not allowed; the index must exist, and does
            not.
    """
    from crawler_dedup.index.opening import require_index  # noqa: PLC0415  (loads numpy, which --help does not need)

    config = config or read_config(())
    location = index or (find_location(config.index) if config.index else usual_directory(config, needs_project=True))
    if must_exist:
        beside = Journals.beside(location, config.journal).files if isinstance(location, Path) else ()
        require_index(location, beside)
    return location


def read_config(settings: Sequence[str]) -> Config:
    """Read the settings of the project, if there is one, and ``NAME=VALUE`` words, which take precedence.

    Raises:
        DedupError: a setting is not allowed, or the settings of the project cannot be read.
    """
    options = parse_pairs(settings, "setting", f"{PREFIX}DIR=other")
    for name in options:
        if not name.startswith(PREFIX):
            nearest = nearest_settings(name)
            raise ConfigError(f"{name} is not a setting{f'; did you mean {nearest[0]}?' if nearest else '.'}")
    return Config.from_settings({**_project_settings(), **options})


def _project_settings() -> dict[str, Any]:
    from scrapy.utils.project import get_project_settings, inside_project  # noqa: PLC0415  (slow to load)

    try:
        if not inside_project():
            return {}
        settings = get_project_settings()
    except Exception as error:  # a settings module may raise anything
        raise DedupError(f"The settings of this Scrapy project cannot be read: {error}") from error
    return {name: settings[name] for name in settings if name.startswith(PREFIX)}


def usual_directory(config: Config, *, needs_project: bool = False) -> Path:
    """Return the directory of the project's index; where there is no project, that of ``crawler-dedup crawl``.

    Args:
        needs_project: raise :class:`DedupError` if there is neither it nor a project.
    """
    from scrapy.utils.project import inside_project  # noqa: PLC0415  (slow to load)

    from crawler_dedup.crawl.configuration import data_directory  # noqa: PLC0415  (slow to load)

    is_inside = inside_project()
    in_working_directory = not is_inside and not Path(config.dir).is_absolute()
    directory = Path(".scrapy", config.dir).absolute() if in_working_directory else data_directory(config)
    if needs_project and not is_inside and not directory.exists():
        raise DedupError("There is no Scrapy project here: name the directory of the index (--help says how).")
    return directory


@click.command("settings")
def print_settings() -> None:
    """Print all settings with their defaults and explanations.

    The output is Markdown.

    \b
    Example:
      crawler-dedup settings
    """
    text = settings_reference()
    # A terminal cannot follow a link to another page of the documentation.
    click.echo(re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", text) if sys.stdout.isatty() else text, nl=False)


def settings_reference() -> str:
    """Return the text of ``docs/reference/settings.md``."""
    parts = [
        "# Settings\n",
        "All settings are read once when the crawl starts. If a value is not allowed or a `DEDUP_*` name is unknown, the",
        "crawl does not start: one line says why, and the exit status is not 0.",
        "In Python they are keyword arguments of `crawler_dedup.Config` (`DEDUP_MAX_DISTANCE` is `max_distance`).",
    ]
    for setting in fields(Config):
        parts.append(f"\n## {setting_name(setting.name)}\n")
        allowed = describe_values(declared_types()[setting.name])
        parts.append(f"Default {setting.metadata['shown']}; takes {allowed}.\n")
        parts.append(
            textwrap.fill(setting.metadata["explanation"], 118, break_long_words=False, break_on_hyphens=False)
        )
    return "\n".join(parts) + "\n"
