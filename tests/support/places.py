"""The place of the index of a test: in a directory, or on a server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from crawler_dedup.index.location import Location, find_location
from tests.support.servers import Server

BACKENDS = ("directory", "server", "shards")


@dataclass(frozen=True)
class Places:
    """Gives places for indexes: a name is one index.

    Attributes:
        folder: of the test.
        server: ``None``: indexes stand in directories.
        shards: of how many parts an index on the server consists.
    """

    folder: Path
    server: Server | None = None
    shards: int = 1

    def __call__(self, name: str = "index") -> Location:
        return self.folder / name if self.server is None else find_location(self.word(name))

    def word(self, name: str = "index") -> str:
        """Return the place in the form of a setting or an argument."""
        return str(self.folder / name) if self.server is None else self.server.url(name, shards=self.shards)
