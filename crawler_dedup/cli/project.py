"""The Scrapy project around the working directory: its settings, its index and the journals of that index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crawler_dedup.config import PREFIX, Config, nearest_settings
from crawler_dedup.errors import ConfigError, DedupError
from crawler_dedup.index.location import Location, find_location
from crawler_dedup.journal.reader import Journals

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

    def require_journal(self) -> None:
        """Raise :class:`DedupError` if there is no journal to read."""
        if not self.journals.files:
            raise DedupError(
                f"There is no journal beside the index in {self.directory}: no crawl has written one, DEDUP_JOURNAL was"
                " empty, or it leads elsewhere (--journal names a file)."
            )


def find_target(
    index: Location | None, journal_files: Sequence[Path] | None, settings: Sequence[str] | None = None
) -> Target:
    """Find the index, the settings and the journals that the options of a command name.

    Args:
        index: the index; ``None``: that of the project.
        journal_files: files of the journal; ``None``: those beside the index.
        settings: ``NAME=VALUE`` words, which take precedence over the settings of the project.

    Raises:
        DedupError: there is no index, or no project; a setting is not allowed.
    """
    config = read_config(settings)
    index = find_existing_index(index, config)
    directory = index if isinstance(index, Path) else usual_directory(config)
    journals = Journals(journal_files) if journal_files else Journals.beside(directory, config.journal)
    return Target(index, directory, config, journals)


def find_journals(index: Location | None, journal_files: Sequence[Path], settings: Sequence[str]) -> Journals:
    """Find the journals, for a command that reads only journals: if *journal_files* are given, it needs no index.

    Raises:
        DedupError: there is no journal; and as :func:`find_target`.
    """
    if journal_files and index is None:
        read_config(settings)  # raises for a wrong setting
        return Journals(journal_files)
    target = find_target(index, journal_files, settings)
    target.require_journal()
    return target.journals


def find_index(index: Location | None, config: Config | None = None) -> Location:
    """Return the location of the index that a command names, or of the index of the project.

    Args:
        index: its location; ``None``: the index of the project.
        config: the settings, if they are read already.

    Raises:
        DedupError: no index is named, and there is no project; a setting is not allowed.
    """
    config = config or read_config(())
    return index or (find_location(config.index) if config.index else _project_directory(config))


def find_existing_index(index: Location | None, config: Config | None = None) -> Location:
    """Return what :func:`find_index` returns, if there is an index.

    Raises:
        IndexDamaged: the file of the index is missing or empty, but journals are beside it.
        DedupError: there is no index; and as :func:`find_index`.
    """
    from crawler_dedup.index.maintenance import require_index  # noqa: PLC0415  (loads numpy, which --help does not need)

    config = config or read_config(())
    location = find_index(index, config)
    beside = Journals.beside(location, config.journal).files if isinstance(location, Path) else ()
    require_index(location, beside)
    return location


def find_directory(index: Location | None) -> Path:
    """Return the directory of the index that a command names, or of the index of the project.

    Raises:
        DedupError: the index is on a server; and as :func:`find_index`.
    """
    location = find_index(index)
    if not isinstance(location, Path):
        raise DedupError(f"The index in {location} is on a server: this is for indexes in directories.")
    return location


def find_labelled_pages(folder: Path | None, config: Config) -> Path:
    """Return *folder*, or if it is ``None``, the folder of the answers about this project's crawls.

    Raises:
        DedupError: there is no such folder.
    """
    labelled = folder or _project_directory(config) / JUDGED
    if not labelled.is_dir():
        raise DedupError(
            f"There is no folder {labelled}. `crawler-dedup judge` makes one of labelled pages, and `crawler-dedup evaluate"
            " --help` says how to make one by hand."
        )
    return labelled


def read_config(settings: Sequence[str] | None) -> Config:
    """Read the settings of the project, if there is one, and ``NAME=VALUE`` words, which take precedence.

    Raises:
        DedupError: a setting is not allowed, or the settings of the project cannot be read.
    """
    options: dict[str, str] = {}
    for word in settings or []:
        name, equals, value = word.partition("=")
        if not name.startswith(PREFIX) or not equals:
            nearest = nearest_settings(name)
            hint = (
                f"did you mean {nearest[0]}={value or 'VALUE'}?"
                if nearest
                else f"an example is {PREFIX}MIN_FEATURES=30."
            )
            raise ConfigError(f"{word!r} is no setting; {hint}")
        options[name] = value
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


def usual_directory(config: Config) -> Path:
    """Return the directory of the project's index; where there is no project, that of ``crawler-dedup crawl``."""
    from scrapy.utils.project import inside_project  # noqa: PLC0415  (slow to load)

    from crawler_dedup.crawl.startup import data_directory  # noqa: PLC0415  (slow to load)

    in_working_directory = not inside_project() and not Path(config.dir).is_absolute()
    return Path(".scrapy", config.dir).absolute() if in_working_directory else data_directory(config)


def _project_directory(config: Config) -> Path:
    from scrapy.utils.project import inside_project  # noqa: PLC0415  (slow to load)

    directory = usual_directory(config)
    if not inside_project() and not directory.exists():
        raise DedupError("There is no Scrapy project here: give the directory of the index.")
    return directory
