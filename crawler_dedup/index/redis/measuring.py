"""The size of an index on its server, which may have other contents too."""

from __future__ import annotations

from crawler_dedup.errors import IndexMissing
from crawler_dedup.index.redis import scripts
from crawler_dedup.index.redis.connection import ServerConnection
from crawler_dedup.index.redis.keys import Keys, meta_key

_LOOKED_AT = 1000


def measure_bytes(connection: ServerConnection) -> int:
    """Estimate the bytes that an index takes from a sample of its keys, or measure all keys if they are few."""
    address = connection.address
    epoch = connection.call(b"HGET", meta_key(address), b"epoch")
    if epoch is None:
        raise IndexMissing(f"There is no index in {address}.")
    keys = Keys(address, epoch)
    fixed, looked, size, total = connection.evaluate(scripts.MEASURE, keys.singles, [keys.prefix, _LOOKED_AT])
    return int(fixed) + int(size) * max(int(total), 1) // max(int(looked), 1)
