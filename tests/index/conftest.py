from collections.abc import Iterator
from contextlib import closing

import pytest

from crawler_dedup.index.index import Index
from crawler_dedup.index.location import ServerAddress
from tests.support.indexing import open_backend
from tests.support.places import Places
from tests.support.servers import Server


@pytest.fixture
def address(server: Server) -> ServerAddress:
    """Return an empty index on a server."""
    server.empty()
    return server.address()


@pytest.fixture
def store(address: ServerAddress) -> Iterator[Index]:
    """Return an open index on a server."""
    with closing(open_backend(address)) as opened:
        yield opened


@pytest.fixture
def backend(places: Places) -> Iterator[Index]:
    """Return an open index, on every backend in turn."""
    with closing(open_backend(places())) as opened:
        yield opened
