"""Create, empty and find an index on a server."""

from __future__ import annotations

import msgspec

from crawler_dedup.errors import IndexMissing
from crawler_dedup.index.header import Header, decode_header
from crawler_dedup.index.location import ServerAddress
from crawler_dedup.index.redis import scripts
from crawler_dedup.index.redis.client import require_layout
from crawler_dedup.index.redis.connection import ServerConnection, require_server
from crawler_dedup.index.redis.keys import LAYOUT, Keys, make_epoch, meta_key
from crawler_dedup.system.logs import logger_without_credentials

logger = logger_without_credentials("crawler_dedup.index")

_REMOVED = 500


def begin(address: ServerAddress, header: Header) -> Header:
    """Create an index if there is none; return the header that is stored in it."""
    with ServerConnection(address) as connection:
        for warning in require_server(connection):
            logger.warning("%s", warning)
        _, stored = _make(connection, scripts.BEGIN, header)
        return decode_header(stored)


def empty(address: ServerAddress, header: Header) -> None:
    """Empty an index, or create it."""
    with ServerConnection(address) as connection:
        require_server(connection)
        epoch, _ = _make(connection, scripts.EMPTY, header)
        _remove_others(connection, epoch)


def is_at(address: ServerAddress) -> bool:
    """Return whether there is an index at *address*. Raises :class:`IndexUnusable` without the server."""
    with ServerConnection(address) as connection:
        return bool(connection.call(b"HEXISTS", meta_key(address), b"header"))


def _make(connection: ServerConnection, script: str, header: Header) -> tuple[bytes, bytes]:
    arguments: list[bytes | str | int] = [make_epoch(), msgspec.json.encode(header), LAYOUT]
    epoch, stored, layout = connection.evaluate(script, [meta_key(connection.address)], arguments)
    require_layout(connection.address, layout)
    return epoch, stored


def read_header(address: ServerAddress) -> Header:
    with ServerConnection(address) as connection:
        header, layout = connection.call(b"HMGET", meta_key(address), b"header", b"layout")
    if header is None:
        raise IndexMissing(f"There is no index in {address}.")
    require_layout(address, layout)
    return decode_header(header)


def _remove_others(connection: ServerConnection, epoch: bytes) -> None:
    """Remove the keys of an index that are not of *epoch*."""
    keys, cursor = Keys(connection.address, epoch), b"0"
    while True:
        cursor, names = connection.call(b"SCAN", cursor, b"MATCH", keys.meta + b"?*", b"COUNT", _REMOVED)
        others = [name for name in names if not name.startswith(keys.prefix)]
        if others and connection.evaluate(scripts.REMOVE, [keys.meta, *others], [epoch]) == b"gone":
            return  # it was emptied once more: the other keys may be those of its new epoch
        if cursor == b"0":
            return
