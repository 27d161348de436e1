"""Opening an index on a server: all of its shards, as one backend."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from crawler_dedup.config import INDEX_CACHE
from crawler_dedup.errors import IndexMismatch, IndexMissing
from crawler_dedup.index.backend import KIND, Backend
from crawler_dedup.index.header import FORMAT, Header, check_header, decode_header
from crawler_dedup.index.location import MAX_SHARDS, ServerAddress
from crawler_dedup.index.profiles import FrozenProfiles
from crawler_dedup.index.redis import scripts
from crawler_dedup.index.redis.client import require_layout
from crawler_dedup.index.redis.connection import ServerConnection, require_server
from crawler_dedup.index.redis.copies import Copies
from crawler_dedup.index.redis.keys import LAYOUT, Keys, make_epoch, meta_key
from crawler_dedup.index.redis.shardedstore import ShardedStore
from crawler_dedup.index.redis.store import READING_BYTES, ServerStore
from crawler_dedup.system.logs import logger_without_credentials

logger = logger_without_credentials("crawler_dedup.index")

_REMOVED = 500


class ServerIndex:
    """Opens indexes on servers, each with all of its shards."""

    @staticmethod
    def open(
        address: ServerAddress,
        spec: Mapping[str, str],
        libraries: Mapping[str, str],
        *,
        fresh: bool,
        cache_bytes: int = INDEX_CACHE,
        frozen: FrozenProfiles | None = None,
    ) -> Backend:
        """Open or create the index at *address*.

        Args:
            spec: what signatures depend on; must equal the header's.
            libraries: versions that a new header gets; other versions in an existing one are only warned about.
            fresh: empty it first, unless this process has it open already.
            cache_bytes: how many bytes of the index this process keeps in memory at most.
            frozen: what decisions know about sites, instead of what the index knows; nothing is learned then.

        Raises:
            IndexMismatch: the header has another *spec*, or the index has another number of shards than *address* says.
            IndexUnusable: it cannot be opened.
        """
        ours = Header(FORMAT, dict(spec), dict(libraries), KIND)
        if fresh and not ServerStore.is_open(address):
            _empty(address, ours)
        first, shards = _begin(address, ours, _find_shards(address) or address.shards or 1)
        if shards != (address.shards or shards):
            raise IndexMismatch(str(address), {"shards": (shards, address.shards)})
        check_header(str(address), first, ours)
        places = address.all_shards(shards)
        for place in places[1:]:
            header, stored = _begin(place, first, shards)
            if (header, stored) != (first, shards):
                check_header(str(address), header, ours)
                raise IndexMismatch(str(address), {f"shards, as shard {place.shard} says": (stored, shards)})
        stores = [ServerStore(place, first, cache_bytes=cache_bytes // shards, frozen=frozen) for place in places]
        return _combine(address, stores)

    @staticmethod
    def attach(address: ServerAddress) -> Backend:
        """Open an existing index, whatever its configuration. Raises as :meth:`open_to_read`."""
        header, shards = _read_header(address)
        check_header(str(address), header, Header(FORMAT, header.spec, header.libraries, KIND))
        share = READING_BYTES // shards
        return _combine(
            address,
            [ServerStore(place, header, cache_bytes=share, one_life=True) for place in address.all_shards(shards)],
        )

    @staticmethod
    def open_to_read(address: ServerAddress, spec: Mapping[str, str] | None = None) -> Backend:
        """Open an existing index to read it; nothing in it is changed.

        Args:
            spec: what signatures depend on; must equal the header's. ``None`` accepts any.

        Raises:
            IndexMissing: there is no index.
            IndexMismatch: the header has another *spec*, format or kind, or the index another number of shards.
            IndexUnusable: it cannot be opened.
        """
        header, shards = _read_header(address)
        ours = Header(FORMAT, header.spec if spec is None else dict(spec), header.libraries, KIND)
        check_header(str(address), header, ours)
        return _combine(
            address, [ServerStore(place, header, readonly=True, one_life=True) for place in address.all_shards(shards)]
        )

    @staticmethod
    def is_at(address: ServerAddress) -> bool:
        """Return whether there is an index at *address*. Raises :class:`IndexUnusable` if the server is away."""
        with ServerConnection(address.whole) as connection:
            return bool(connection.call(b"HEXISTS", meta_key(address.whole), b"header"))


def _combine(address: ServerAddress, stores: list[ServerStore]) -> Backend:
    return stores[0] if len(stores) == 1 else ShardedStore(address, stores)


def _find_shards(address: ServerAddress) -> int:
    """Return the number of shards of an index, as stored in its first existing shard; 0 if there is no shard.

    Earlier shards may be missing because a node of a cluster has lost its data.
    """
    first, *others = address.whole.all_shards(MAX_SHARDS)
    with ServerConnection(first) as connection:
        stored = _read_shards(connection, first)
        for place in others:
            if stored:
                break
            if connection.is_in_cluster:
                with ServerConnection(place) as other:
                    stored = _read_shards(other, place)
            else:
                stored = _read_shards(connection, place)
    return stored


def _read_shards(connection: ServerConnection, shard: ServerAddress) -> int:
    epoch, shards = connection.call(b"HMGET", meta_key(shard), b"epoch", b"shards")
    return int(shards or 1) if epoch else 0


def _begin(address: ServerAddress, header: Header, shards: int) -> tuple[Header, int]:
    """Create a shard if there is none; return the header and the number of shards that are stored in it."""
    with ServerConnection(address) as connection:
        for warning in require_server(connection):
            if not address.shard:
                logger.warning("%s", warning)
        _, stored, number = _make(connection, scripts.BEGIN, header, shards)
        return decode_header(stored), int(number or 1)


def _empty(address: ServerAddress, header: Header) -> None:
    """Empty all existing shards, and create the new ones; shard 0, which is asked first for their number, comes last."""
    stored = _find_shards(address) or 1
    shards = address.shards or stored
    for place in reversed(address.all_shards(max(shards, stored))):
        with ServerConnection(place) as connection:
            if place.shard < shards:
                require_server(connection)
                epoch, _, _ = _make(connection, scripts.EMPTY, header, shards)
            else:
                old = connection.call(b"HGET", meta_key(place), b"epoch") or b""
                connection.call(b"DEL", meta_key(place), Keys(place, old).state)
                epoch = b""
            _remove_others(connection, epoch)


def _make(connection: ServerConnection, script: str, header: Header, shards: int) -> tuple[bytes, bytes, bytes]:
    made = make_epoch()
    arguments: list[bytes | str | int] = [made, msgspec.json.encode(header), shards, LAYOUT]
    epoch, stored, number, layout = connection.evaluate(script, [meta_key(connection.address)], arguments)
    require_layout(connection.address, layout)
    if epoch == made:  # the old contents must not come back
        Copies(connection).confirm()
    return epoch, stored, number


def _read_header(address: ServerAddress) -> tuple[Header, int]:
    with ServerConnection(address.whole) as connection:
        header, shards, layout = connection.call(b"HMGET", meta_key(address.whole), b"header", b"shards", b"layout")
    if header is None:
        raise IndexMissing(f"There is no index in {address}.")
    require_layout(address, layout)
    stored = int(shards or 1)
    if address.shards not in (None, stored):
        raise IndexMismatch(str(address), {"shards": (stored, address.shards)})
    return decode_header(header), stored


def _remove_others(connection: ServerConnection, epoch: bytes) -> None:
    """Remove the keys of a shard that are not of *epoch*; ``b""``: the shard does not exist any more."""
    keys, cursor = Keys(connection.address, epoch), b"0"
    while True:
        cursor, names = connection.call(b"SCAN", cursor, b"MATCH", keys.meta + b"?*", b"COUNT", _REMOVED)
        others = [name for name in names if not epoch or not name.startswith(keys.prefix)]
        if others and connection.evaluate(scripts.REMOVE, [keys.meta, *others], [epoch]) == b"gone":
            return  # it was emptied once more: the other keys may be those of its new epoch
        if cursor == b"0":
            return
