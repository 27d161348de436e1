"""The form of a record in the database, a third smaller than a row of an export."""

from __future__ import annotations

from operator import attrgetter
from typing import Annotated, Any

import msgspec

from crawler_dedup.index.layout import decode_struct
from crawler_dedup.index.overrides import NO_OVERRIDES, Overrides
from crawler_dedup.index.records import KEY_BYTES, Addresses, Aliases, Record, RunNumber, checked, shorten_key
from crawler_dedup.signedpage import Count, PageKind, SignedPage

_MAX_TIME = (1 << 62) - 1
_Time = Annotated[int, msgspec.Meta(ge=-_MAX_TIME, le=_MAX_TIME)]
_REMEMBERED = 128  # records that were read or written last; up to twice as many are kept
_MOST_REMEMBERED = 8_000  # bytes; larger records are not kept


class PackedRecord(msgspec.Struct, frozen=True, array_like=True):
    """The form of a :class:`~crawler_dedup.index.records.Record` in the database.

    Fields that are empty in most records come last: empty fields at the end are not stored.

    Attributes:
        key: key of the page, 20 bytes (:func:`~crawler_dedup.index.records.shorten_key`).
        seen: when the page was visited last, in seconds after it was filed.
        settled: when it was handled, in seconds after it was filed; ``None`` while that is open.
    """

    key: Annotated[bytes, msgspec.Meta(min_length=KEY_BYTES, max_length=KEY_BYTES)]
    scope: str
    url: str
    title: str
    run: RunNumber
    claim: Count
    filed: _Time
    seen: _Time
    settled: _Time | None
    digest: bytes
    size: Count
    kind: PageKind
    chars: Count
    signature: int
    features: Count
    cover: bytes
    link_digest: bytes
    link_count: Count = 0
    link_chars: Count = 0
    inner_link_chars: Count = 0
    blocks: bytes = b""
    named: Count = 0
    links: bytes = b""
    value: bytes = b""
    is_representative: bool = True
    aliases: Aliases = ()
    text: bytes = b""
    unsigned: str = ""
    is_dry: bool = False
    also_at: Addresses = ()


_FIELDS = PackedRecord.__struct_fields__
_DEFAULTS = PackedRecord.__struct_defaults__
# Fields of a page in a packed record, in its order and at its end; and in the order of a SignedPage, behind its title.
_page_fields = attrgetter(*_FIELDS[_FIELDS.index("digest") : _FIELDS.index("is_representative")])
_last_page_fields = attrgetter(*_FIELDS[_FIELDS.index("text") : _FIELDS.index("is_dry")])
_behind_title = attrgetter(*[name for name in SignedPage.__struct_fields__[4:] if name in _FIELDS])

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(PackedRecord).decode


def pack(record: Record) -> bytes:
    """Return *record* in the form of the database."""
    page, filed = record.page, _clip(record.filed)
    settled = _clip(record.settled - filed) if record.settled else None
    times = filed, _clip(record.seen - filed), settled
    key = bytes.fromhex(shorten_key(page.key))
    values = [key, page.scope, page.url, page.title, record.run, record.claim, *times, *_page_fields(page)]
    values += [record.is_representative, record.aliases, *_last_page_fields(page), record.is_dry, record.also_at]
    for default in reversed(_DEFAULTS):
        if values[-1] != default:
            break
        del values[-1]
    return _encode(values)


def _clip(seconds: int) -> int:
    """Return *seconds*, or the nearest number that can be stored: an imported record may have any."""
    return seconds if -_MAX_TIME <= seconds <= _MAX_TIME else max(-_MAX_TIME, min(seconds, _MAX_TIME))


def unpack(content: bytes | memoryview) -> Record:
    """Return the record that is stored as *content*; raise :class:`msgspec.DecodeError` for anything else."""
    packed = unpack_fields(content)
    fields: list[Any] = [packed.key.hex(), packed.url, packed.scope, packed.title, *_behind_title(packed)]
    return checked(
        Record(
            page=SignedPage(*fields),
            run=packed.run,
            claim=packed.claim,
            filed=packed.filed,
            seen=packed.filed + packed.seen,
            settled=0 if packed.settled is None else packed.filed + packed.settled,
            is_representative=packed.is_representative,
            aliases=packed.aliases,
            is_dry=packed.is_dry,
            also_at=packed.also_at,
        )
    )


def unpack_sound(content: bytes | memoryview) -> Record | None:
    """Return the record that is stored as *content*; ``None`` if it is damaged."""
    try:
        return unpack(content)
    except msgspec.DecodeError:
        return None


def unpack_fields(content: bytes | memoryview) -> PackedRecord:
    """Decode the fields of a stored record; raise :class:`msgspec.DecodeError` for anything else."""
    return decode_struct(_decode, content)


def as_unpacked(record: Record) -> Record | None:
    """Return *record* as it will be after packing and :func:`unpack`; ``None`` if that is not certain."""
    page = record.page
    if not all(0 <= moment < _MAX_TIME for moment in (record.filed, record.seen, record.settled)):
        return None
    key = shorten_key(page.key)
    if key != page.key:
        record = msgspec.structs.replace(record, page=msgspec.structs.replace(page, key=key))
    try:
        return record if checked(record) is record else None
    except msgspec.DecodeError:
        return None


class RecentRows:
    """A cache of rows by their stored content: several threads read.

    It has the records that were read or written last: a representative is read for each of its duplicates, and a claimed
    record is read again when it is settled.

    Attributes:
        overrides: the overrides and their version.
    """

    def __init__(self) -> None:
        self.overrides: tuple[bytes, Overrides] = b"", NO_OVERRIDES
        self._latest: dict[bytes, Record] = {}
        self._before: dict[bytes, Record] = {}

    def unpack(self, content: bytes) -> Record:
        """Return what :func:`unpack` returns, from the cache if it is there."""
        record = self._latest.get(content)
        if record is None:
            record = self._before.get(content) or unpack(content)
            self._add(content, record)
        return record

    def pack(self, record: Record) -> bytes:
        """Return what :func:`pack` returns, and cache it."""
        content = pack(record)
        unpacked = as_unpacked(record)
        if unpacked is not None:
            self._add(content, unpacked)
        return content

    def _add(self, content: bytes, record: Record) -> None:
        if len(content) > _MOST_REMEMBERED:
            return
        if len(self._latest) >= _REMEMBERED:
            self._before, self._latest = self._latest, {}
        self._latest[content] = record
