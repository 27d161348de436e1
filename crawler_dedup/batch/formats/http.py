"""HTTP responses as they are stored in WARC files, also those that servers and crawlers have written in another way.

The heads of responses and of WARC records are parsed in the same way.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import Any, NamedTuple

from fastwarc.warc import ArchiveIterator

from crawler_dedup.system.compression import zstd

END = re.compile(rb"\r?\n\r?\n")
"""The end of a head: the end of its last line, and an empty line."""
LONGEST_HEAD = 1 << 16
"""Length of the longest head that is read."""

_HTML = ("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml")
_UNKNOWN_TYPES = ("application/octet-stream", "application/unknown", "unknown/unknown", "*/*")
_HTML_NAMES = (".html", ".htm", ".xhtml")
_STATUS = re.compile(r"(?:HTTP/\d+(?:\.\d+)?|ICY)\s+(\d{3})", re.IGNORECASE)
_CHUNK_SIZE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")  # https://mimesniff.spec.whatwg.org/#binary-data-byte
_TAG = re.compile(rb"<[a-zA-Z!?/]")
_BLANK = b" \t\r\n\f\v\0\xef\xbb\xbf\xfe\xff"  # also the bytes of byte order marks
_SNIFFED = 1445  # bytes at the start of a body that show whether it is text, as in the standard above
_BYTES_PER_BINARY = 50  # in text, at least; compressed bodies have a binary byte per ten bytes
_SEARCHED = 5000  # bytes in which Scrapy looks for HTML


@dataclass(frozen=True)
class Fields:
    """Parsed head: its first line, and the names and values of its fields."""

    first_line: str
    items: tuple[tuple[str, str], ...]

    def first(self, name: str) -> str | None:
        """Return the value of the first field named *name* (in lower case), or ``None``."""
        return next((value for key, value in self.items if key.lower() == name), None)

    def last(self, name: str) -> str | None:
        """Return the value of the last field named *name* (in lower case), or ``None``."""
        return next((value for key, value in reversed(self.items) if key.lower() == name), None)

    def every(self, name: str) -> list[str]:
        """Return the values of all fields named *name* (in lower case)."""
        return [value for key, value in self.items if key.lower() == name]


def parse_fields(head: bytes) -> Fields:
    """Parse a head. Lines may end with a line feed only, and a line without a colon is ignored."""
    first_line, *lines = re.split(r"\r?\n", decode_head(head))
    unfolded: list[str] = []
    for line in lines:
        if unfolded and line[:1] in (" ", "\t"):
            unfolded[-1] += f" {line.strip()}"
        else:
            unfolded.append(line)
    parts = (line.partition(":") for line in unfolded if ":" in line)
    return Fields(first_line.strip(), tuple((name.strip(), value.strip()) for name, _, value in parts))


def decode_head(head: bytes) -> str:
    """Decode a head, which is in UTF-8, or else in Latin-1."""
    try:
        return head.decode()
    except UnicodeDecodeError:
        return head.decode("latin-1")


class Message(NamedTuple):
    """An HTTP response.

    Attributes:
        status: status code.
        fields: header fields.
        body_start: offset of the body.
    """

    status: int
    fields: Fields
    body_start: int


def parse_message(content: bytes) -> Message | None:
    """Parse the start of a response; return ``None`` if it is no response, or if its head is too long."""
    start = len(content) - len(content.lstrip(b"\r\n"))
    end = END.search(content, start, start + LONGEST_HEAD)
    if end is None and len(content) - start >= LONGEST_HEAD:
        return None
    body_start = end.end() if end else len(content)
    fields = parse_fields(content[start:body_start])
    status = _STATUS.match(fields.first_line)
    return Message(int(status[1]), fields, body_start) if status else None


def says_html(content_type: str | None) -> bool | None:
    """Return whether *content_type* is a type of HTML, or ``None`` if it is missing or generic."""
    mime_type = re.split(r"[;,]", content_type or "")[0].strip().lower()
    return mime_type in _HTML if "/" in mime_type and mime_type not in _UNKNOWN_TYPES else None


def is_html(content_type: str | None, url: str, body: bytes) -> bool:
    """Return whether a body is HTML: by its type, or guessed as Scrapy does if that is missing or generic."""
    as_stated = says_html(content_type)
    if as_stated is not None:
        return as_stated
    if re.split(r"[?#]", url)[0].lower().endswith(_HTML_NAMES):
        return True
    start = body[:_SEARCHED].lower()
    return not _BINARY.search(start) and (b"<html" in start or b"<!doctype html" in start)


def decode_body(body: bytes, fields: Fields, most: int) -> bytes:
    """Undo the encodings of *body* that *fields* name, and return at most its first *most* bytes.

    Encodings that do not exist are ignored, and so are those that were undone before the body was stored. A body in gzip
    is decompressed whichever encoding is named.

    Raises:
        ValueError: the body cannot be decoded.
    """
    if len(body) > 2 * (most - 1):  # too long in any case
        return body[:most]
    is_understood = True
    if "chunked" in _names(fields, "transfer-encoding") and not _is_plain(body):
        chunks = _split_chunks(body)
        is_understood = bool(chunks)
        body = b"".join(chunks) if chunks else body
    for name in reversed(_names(fields, "content-encoding")):
        if name in ("", "identity") or _is_plain(body):
            continue
        decoded = _DECODERS.get(name, _gunzip)(body, most) or _gunzip(body, most)
        is_understood &= bool(decoded)
        body = decoded or body
    if not is_understood and not _is_text(body):
        raise ValueError("unknown Content-Encoding")
    return body[:most]


def _names(fields: Fields, name: str) -> list[str]:
    return [part.strip().lower() for value in fields.every(name) for part in value.split(",")]


def _is_plain(body: bytes) -> bool:
    """Return whether *body* is neither compressed nor in chunks: text that has a tag or is in ASCII."""
    start = _start_of(body)
    is_plain = start.isascii() or _TAG.search(start) is not None
    return is_plain and not _BINARY.search(start) and not _CHUNK_SIZE.match(body)


def _is_text(body: bytes) -> bool:
    """Return whether *body*, which no decoder can read, is text: few of its bytes are binary."""
    start = _start_of(body)
    return len(_BINARY.findall(start)) * _BYTES_PER_BINARY <= len(start)


def _start_of(body: bytes) -> bytes:
    """Return the bytes that show whether *body* is text, without null bytes, which UTF-16 has."""
    return body.lstrip(_BLANK)[:_SNIFFED].replace(b"\0", b"")


def _split_chunks(body: bytes) -> list[bytes]:
    """Return the chunks of *body*, the last of which may be cut off; none if it has no chunks."""
    chunks: list[bytes] = []
    place = 0
    while (size := _CHUNK_SIZE.match(body, place)) and (not chunks or chunks[-1]):
        chunks.append(body[size.end() : size.end() + int(size[1], 16)])
        place = size.end() + int(size[1], 16)
        place += 2 if body.startswith(b"\r\n", place) else body.startswith(b"\n", place)
    return chunks


def _gunzip(body: bytes, most: int) -> bytes:
    return _decompress(body, most, partial(zlib.decompressobj, 16 + zlib.MAX_WBITS))


def _decode_deflate(body: bytes, most: int) -> bytes:
    with_head, without_head = (partial(zlib.decompressobj, bits) for bits in (zlib.MAX_WBITS, -zlib.MAX_WBITS))
    return _decompress(body, most, with_head) or _decompress(body, most, without_head)


def _decode_zstd(body: bytes, most: int) -> bytes:
    return _decompress(body, most, zstd.ZstdDecompressor)


def _decompress(body: bytes, most: int, make_decompressor: Callable[[], Any]) -> bytes:
    """Decompress the members or frames of *body*, as far as they can be read."""
    content = b""
    while body and len(content) < most:
        decompressor = make_decompressor()
        try:
            content += decompressor.decompress(body, most - len(content))
        except (zlib.error, zstd.ZstdError):
            break
        body = decompressor.unused_data
    return content


def _decode_brotli(body: bytes, most: int) -> bytes:
    """Decompress with FastWARC, which has a decoder."""
    message = b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n" + body
    head = b"WARC/1.1\r\nWARC-Type: response\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: "
    file = BytesIO(head + b"%d\r\n\r\n%s\r\n\r\n" % (len(message), message))
    try:
        decoded: bytes = next(ArchiveIterator(file, auto_decode="all")).reader.read(most)
    except (OSError, ValueError):
        return b""
    return decoded


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "deflate": _decode_deflate,
    "br": _decode_brotli,
    "zstd": _decode_zstd,
}
