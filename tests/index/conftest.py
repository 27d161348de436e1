from __future__ import annotations

import pytest

from crawler_dedup.index.location import ServerAddress
from tests.support.servers import Server


@pytest.fixture
def address(server: Server) -> ServerAddress:
    """Return an empty index on a server."""
    server.empty()
    return server.address()
