"""Places of the indexes of a test: in directories, or on a server."""

from dataclasses import dataclass
from pathlib import Path

from crawler_dedup.index.location import Location, find_location
from tests.support.servers import Server

BACKENDS = ("directory", "server")


@dataclass(frozen=True)
class Places:
    """Returns the places of indexes by their names.

    Attributes:
        folder: the folder of the test.
        server: the server with the indexes; ``None``: indexes are in directories.
    """

    folder: Path
    server: Server | None = None

    def __call__(self, name: str = "index") -> Location:
        return self.folder / name if self.server is None else find_location(self.word(name))

    def word(self, name: str = "index") -> str:
        """Return the place of an index as the value of a setting or an argument."""
        return str(self.folder / name) if self.server is None else self.server.url(name)
