"""Open or create an index, of either backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from crawler_dedup.config import MAP_SIZE
from crawler_dedup.errors import IndexDamaged, IndexGone, IndexMismatch, IndexMissing
from crawler_dedup.index.index import Index
from crawler_dedup.index.lmdb.engine import DATA_FILE, damaged_error
from crawler_dedup.index.lmdb.index import DirectoryIndex
from crawler_dedup.index.lmdb.locks import is_run_alive
from crawler_dedup.index.location import Location, ServerAddress
from crawler_dedup.system.extras import require_extra

if TYPE_CHECKING:
    from crawler_dedup.index.redis.index import ServerIndex


def open_or_create_index(
    location: Location,
    spec: Mapping[str, str],
    libraries: Mapping[str, str],
    *,
    map_size: int = MAP_SIZE,
    fresh: bool = False,
) -> Index:
    """Open the index of pages at *location*, or create it.

    Args:
        spec: what signatures depend on; must equal the header's.
        libraries: versions that a new header gets; other versions in an existing one are only warned about.
        map_size: largest size of the file, in a directory.
        fresh: empty it first, unless this process has it open already.

    Raises:
        IndexMismatch: the header has another *spec*.
        IndexUnusable: it cannot be opened.
    """
    if isinstance(location, ServerAddress):
        return _server().open(location, spec, libraries, fresh=fresh)
    return DirectoryIndex.open(location, spec, libraries, map_size=map_size, fresh=fresh)


def open_index(location: Location, spec: Mapping[str, str] | None = None) -> Index:
    """Open the index of pages at *location* to read it; nothing in it is changed.

    Args:
        spec: what signatures depend on; must equal the header's. ``None`` accepts any.

    Raises:
        IndexMissing: there is no index.
        IndexMismatch: the header has another *spec* or format.
        IndexUnusable: it cannot be opened.
    """
    if isinstance(location, ServerAddress):
        return _server().attach(location, spec, readonly=True)
    return DirectoryIndex.attach(location, spec, readonly=True)


def open_to_write(location: Location) -> Index:
    """Open the existing index of pages at *location*, whatever its configuration is. Raises as :func:`open_index`."""
    if isinstance(location, ServerAddress):
        return _server().attach(location)
    return DirectoryIndex.attach(location)


def _server() -> type[ServerIndex]:
    require_extra("redis", "An index on a server")
    from crawler_dedup.index.redis.index import ServerIndex  # noqa: PLC0415  (needs an extra)

    return ServerIndex


def has_index(directory: Path) -> bool:
    """Return whether there is an index in *directory*."""
    file = directory / DATA_FILE
    return file.is_file() and file.stat().st_size > 0


def require_index(location: Location, journals: Sequence[Path] = ()) -> None:
    """Raise an error if there is no index at *location*; none is created.

    Args:
        journals: journals in the directory of the index, which show that there was one.

    Raises:
        IndexDamaged: the file of the index is missing or empty, but there are *journals*.
        IndexMissing: there is no index.
    """
    if isinstance(location, ServerAddress):
        with suppress(IndexMismatch, IndexDamaged):  # its journals can be read nevertheless
            open_index(location).close()
        return
    if has_index(location):
        return
    if journals:
        state = "empty" if (location / DATA_FILE).exists() else "missing"
        raise damaged_error(location, f"{DATA_FILE} is {state}, but the journal {journals[-1].name} is beside it")
    raise IndexMissing(f"There is no index in {location}.")


def require_run(location: Location, run: int) -> None:
    """Raise :class:`IndexGone` unless the directory *location* has the index in which *run* has begun.

    On a server nothing is checked: an index that was emptied there is joined again.
    """
    if isinstance(location, ServerAddress):
        return
    with suppress(OSError):  # opening it says why
        if not has_index(location) or is_run_alive(location.resolve(), run, readonly=True) is False:
            raise IndexGone(f"The index in {location} was deleted or replaced.")
