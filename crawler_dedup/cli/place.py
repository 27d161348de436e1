"""Where the commands look: the index and the journals of a Scrapy project, or those that are named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from crawler_dedup.cli.settings import project_index, read_config
from crawler_dedup.config import Config
from crawler_dedup.index.maintenance import require_index
from crawler_dedup.journal.reader import Journals

Index = Annotated[
    Path | None, typer.Argument(file_okay=False, help="Directory of the index; none: that of this Scrapy project.")
]
JournalFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--journal", dir_okay=False, help="A file of the journal; may be repeated. None: those beside the index."
    ),
]


@dataclass(frozen=True)
class Place:
    """An index, the settings of the project to which it belongs, and what crawls have noted."""

    directory: Path
    config: Config
    journals: Journals


def place_of(index: Path | None, files: Sequence[Path] | None, settings: Sequence[str] | None = None) -> Place:
    """Where to look.

    Args:
        index: as it was named; else the project's.
        files: of the journal, as they were named.
        settings: ``NAME=VALUE`` words, which win over the project's.

    Raises:
        DedupError: there is no index, or no project; a setting is not allowed.
    """
    config = read_config(settings)
    if index is None:
        index = project_index(config)
    require_index(index)
    return Place(index, config, Journals(files) if files else Journals.beside(index, config.journal_file))
