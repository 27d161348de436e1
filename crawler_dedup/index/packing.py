"""A record as it stands in the database. It is a third smaller than a row of an export."""

from __future__ import annotations

from typing import Annotated

import msgspec

from crawler_dedup.index.decoding import decode_struct
from crawler_dedup.index.dictionaries import MAX_TEXT_BYTES, Dictionary
from crawler_dedup.index.records import KEY_BYTES, Aliases, Record, RunNumber, checked, shorten_key
from crawler_dedup.signedpage import Count, SignedPage

_SEPARATOR = "\0"
_MAX_TIME = (1 << 62) - 1
_Time = Annotated[int, msgspec.Meta(ge=-_MAX_TIME, le=_MAX_TIME)]


class PackedRecord(msgspec.Struct, frozen=True, array_like=True):
    """What the database holds of a :class:`~crawler_dedup.index.records.Record`.

    Attributes:
        key: of the page, 20 bytes (:func:`~crawler_dedup.index.records.shorten_key`).
        dictionary: number of the dictionary with which the texts are compressed; 0: they are msgpack.
        texts: scope, address and title.
        page: the page without its key and these texts.
        seen: seconds after it was filed.
        settled: seconds after it was filed; ``None`` while that is open.
    """

    key: Annotated[bytes, msgspec.Meta(min_length=KEY_BYTES, max_length=KEY_BYTES)]
    dictionary: Annotated[int, msgspec.Meta(ge=0, lt=1 << 8)]
    texts: bytes
    page: SignedPage
    run: RunNumber = 0
    claim: Count = 0
    filed: _Time = 0
    seen: _Time = 0
    settled: _Time | None = None
    stands: bool = True
    aliases: Aliases = ()


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(PackedRecord).decode
_decode_texts = msgspec.msgpack.Decoder(tuple[str, str, str]).decode


def pack(record: Record, dictionary: Dictionary | None) -> bytes:
    """Return *record* as the database holds it, its texts compressed with *dictionary* where that is possible."""
    number, texts = _pack_texts(record.page, dictionary)
    return repack(PackedRecord(bytes.fromhex(shorten_key(record.page.key)), number, texts, record.page), record)


def repack(packed: PackedRecord, record: Record) -> bytes:
    """Return *packed* with all that *record*, that of the same page, says of anything but its key and texts."""
    filed = _clip(record.filed)
    return _encode(
        msgspec.structs.replace(
            packed,
            page=_without_texts(record.page),
            run=record.run,
            claim=record.claim,
            filed=filed,
            seen=_clip(record.seen - filed),
            settled=_clip(record.settled - filed) if record.settled else None,
            stands=record.stands,
            aliases=record.aliases,
        )
    )


def _clip(seconds: int) -> int:
    """Return *seconds*, or what is nearest to them: an imported record may say anything."""
    return seconds if -_MAX_TIME <= seconds <= _MAX_TIME else max(-_MAX_TIME, min(seconds, _MAX_TIME))


def unpack_head(content: bytes | memoryview) -> PackedRecord:
    """Decode what the database holds, but for the texts; raise :class:`msgspec.DecodeError` for anything else."""
    return decode_struct(_decode, content)


def unpack(packed: PackedRecord, dictionary: Dictionary | None) -> Record:
    """Return the record. Raises :class:`msgspec.DecodeError`.

    Args:
        dictionary: the one that *packed* names.
    """
    scope, url, title = _unpack_texts(packed.texts, dictionary)
    return checked(
        Record(
            page=msgspec.structs.replace(packed.page, key=packed.key.hex(), url=url, scope=scope, title=title),
            run=packed.run,
            claim=packed.claim,
            filed=packed.filed,
            seen=packed.filed + packed.seen,
            settled=0 if packed.settled is None else packed.filed + packed.settled,
            stands=packed.stands,
            aliases=packed.aliases,
        )
    )


def joined_texts(page: SignedPage) -> bytes | None:
    """Return the texts of *page* that are compressed, joined; ``None`` where they are too long or hold a zero."""
    joined = _SEPARATOR.join((page.scope, page.url, page.title))
    content = joined.encode()
    return content if joined.count(_SEPARATOR) == 2 and len(content) <= MAX_TEXT_BYTES else None


def _without_texts(page: SignedPage) -> SignedPage:
    return msgspec.structs.replace(page, key="", url="", scope="", title="")


def _pack_texts(page: SignedPage, dictionary: Dictionary | None) -> tuple[int, bytes]:
    joined = None if dictionary is None else joined_texts(page)
    if dictionary is None or joined is None:
        return 0, _encode((page.scope, page.url, page.title))
    return dictionary.number, dictionary.compress(joined)


def _unpack_texts(texts: bytes, dictionary: Dictionary | None) -> tuple[str, str, str]:
    if dictionary is None:
        return decode_struct(_decode_texts, texts)
    try:
        scope, url, title = dictionary.decompress(texts).decode().split(_SEPARATOR)
    except ValueError as error:  # not UTF-8, or not three
        raise msgspec.DecodeError(f"the texts are damaged: {error}") from error
    return scope, url, title
