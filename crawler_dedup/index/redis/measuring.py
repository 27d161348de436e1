"""The size of a shard of an index on its server, which may have other contents too."""

from __future__ import annotations

from crawler_dedup.errors import IndexMissing
from crawler_dedup.index.redis import scripts
from crawler_dedup.index.redis.connection import ServerConnection
from crawler_dedup.index.redis.keys import Keys, meta_key
from crawler_dedup.index.redis.nodes import find_slot

_LOOKED_AT = 1000


def measure_bytes(connection: ServerConnection) -> int:
    """Estimate the bytes that a shard takes from a sample of its keys, or measure all keys if they are few."""
    address = connection.address
    epoch = connection.call(b"HGET", meta_key(address), b"epoch")
    if epoch is None:
        raise IndexMissing(f"There is no index in {address}.")
    keys = Keys(address, epoch)
    in_cluster = connection.is_in_cluster
    fixed, looked, count, size, total = connection.evaluate(
        scripts.MEASURE, keys.singles, [keys.prefix, keys.meta + b"*" if in_cluster else b"*", _LOOKED_AT]
    )
    if in_cluster:  # a node may scan slot by slot: the total is that of the slot
        total, looked = connection.call(b"CLUSTER", b"COUNTKEYSINSLOT", find_slot(address.tag)), count
    return int(fixed) + int(size) * max(int(total), 1) // max(int(looked), 1)
