"""Records of WARC files as tools write them that do not keep to the standard, and damaged ones."""

import gzip
import zlib
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import fastwarc.warc
import warcio.archiveiterator

from crawler_dedup.system.compression import zstd
from tests.support.collections import Page, pack, warc_record, write_record
from tests.support.crawling import article

_HTTP = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"


SUFFIXES = ("", ".gz", ".zst")


class Odd(NamedTuple):
    """A record, whether it is a page, and in how many places it is damaged."""

    content: bytes
    is_page: bool = True
    damaged: int = 0


def html(name: str) -> bytes:
    return article(name).encode()


def response(name: str, http: str = _HTTP, body: bytes | None = None) -> bytes:
    return http.encode("latin-1") + (html(name) if body is None else body)


def _encoded(name: str, headers: str, body: bytes) -> bytes:
    http = _HTTP.replace("\r\n\r\n", f"\r\n{headers}\r\n\r\n")
    return write_record(f"http://h/{name}", response(name, http, body))


def _chunked(body: bytes) -> bytes:
    return b"%x;name=value\r\n%s\r\n0\r\n\r\n" % (len(body), body)


def _with_http(name: str, http: str) -> bytes:
    return write_record(f"http://h/{name}", response(name, http))


def _with_first_field(field: str) -> bytes:
    request = write_record(None, b"GET / HTTP/1.1\r\n\r\n", kind="request")
    return request.replace(b"WARC-Type", f"{field}\r\nWARC-Type".encode(), 1)


def _damaged() -> Mapping[str, Odd]:
    url, whole = "http://h/damaged", response("damaged")
    record = partial(write_record, url)
    return {
        "a length that is one byte short": Odd(record(whole, length=len(whole) - 1), damaged=1),
        "a length that is much too short": Odd(record(whole, length=200), damaged=1),
        "a length that is too short, and other fields first": Odd(
            record(whole, length=len(whole) - 1) + _with_first_field("X-First: a"), damaged=1
        ),
        "a length that is too long": Odd(record(whole, length=len(whole) + 7), damaged=1),
        "a length beyond the next record": Odd(record(whole, length=len(whole) + 5_000), damaged=1),
        "a length beyond the end": Odd(record(whole, length=10**15), damaged=1),
        "no length": Odd(record(whole, length=""), damaged=1),
        "a length that is no number": Odd(record(whole, length="many"), damaged=1),
        "a negative length": Odd(record(whole, length=-1), damaged=1),
        "content that is missing": Odd(record(whole)[:-500], False, 1),
        "a head without an end": Odd(record(b"")[:150], False, 1),
        "a head that is too long": Odd(record(whole, headers=f"X-Long: {'x' * 70_000}"), False, 1),
        "bytes between records": Odd(b"some bytes\0 that belong to no record\r\n\r\n", False, 1),
        "no version": Odd(record(whole, version="CRAWL"), False, 1),
    }


def _unusual() -> Mapping[str, Odd]:
    url, whole = "http://h/unusual", response("unusual")
    record = partial(write_record, url)
    return {
        "bare line feeds": Odd(record(whole.replace(b"\r\n", b"\n"), line_end="\n", version="WARC/0.18")),
        "bare line feeds and CR LF behind": Odd(record(whole, line_end="\n", end="\r\n\r\n")),
        "a bare line feed in the head": Odd(record(whole).replace(b"\r\nContent-Type", b"\nContent-Type", 1)),
        "no end": Odd(record(whole, end="")),
        "a short end": Odd(record(whole, end="\r\n")),
        "a long end": Odd(record(whole, end="\r\n" * 6)),
        "empty lines in front": Odd(b"\r\n\r\n" + record(whole)),
        "an old version": Odd(record(whole, version="WARC/0.9")),
        "a future version": Odd(record(whole, version="WARC/1.2")),
        "a version of three numbers": Odd(record(whole, version="WARC/1.0.0")),
        "a version in lower case": Odd(record(whole, version="warc/1.0")),
        "a date that does not exist": Odd(record(whole, date="2009-03-65T08:43:19-0800")),
        "names in lower case": Odd(record(whole).replace(b"Content-Length: ", b"content-length:")),
        "two lengths": Odd(record(whole, headers=f"Content-Length: {len(whole)}")),
        "a line without a colon": Odd(record(whole, headers="some words")),
        "bytes that are not UTF-8": Odd(record(whole, headers="X-A: caf\udce9")),
        "an address on two lines": Odd(write_record("http://h/unusual\r\n path", whole)),
        "an address in brackets": Odd(write_record(f"<{url}>", whole)),
        "an address that cannot be parsed": Odd(
            write_record("http://[h/unusual", response("x", "HTTP/1.1 200 OK\r\n\r\n"))
        ),
        "no address": Odd(write_record(None, whole), False),
        "an empty address": Odd(write_record("", whole), False),
        "a request without an address": Odd(write_record(None, b"GET / HTTP/1.1\r\n\r\n", kind="request"), False),
        "no content": Odd(record(b""), False),
        "an unknown type": Odd(record(whole, kind="strange"), False),
        "no type": Odd(record(whole).replace(b"WARC-Type: response\r\n", b""), False),
        "a segment": Odd(record(whole, headers="WARC-Segment-Number: 1"), False),
        "a DNS record": Odd(write_record("dns:h", b"h. 1 IN A 127.0.0.1", content_type="text/dns"), False),
        "a log": Odd(write_record("metadata://h/wget.log", b"log", kind="resource", content_type="text/plain"), False),
        "a resource": Odd(record(html("unusual"), kind="resource", content_type="text/html")),
        "a resource without a type": Odd(record(html("unusual"), kind="resource", content_type="")),
        "a picture": Odd(record(b"\x89PNG", kind="resource", content_type="image/png"), False),
        "a text": Odd(record("Größe, and so on.\n".encode() * 9, kind="conversion", content_type="text/plain")),
    }


def _http() -> Mapping[str, Odd]:
    start = "HTTP/1.1 200 OK\r\n"
    return {
        "HTTP with bare line feeds": Odd(_with_http("lf", _HTTP.replace("\r\n", "\n"))),
        "a status without a space": Odd(_with_http("status", _HTTP.replace("200 ", "200"))),
        "no reason": Odd(_with_http("reason", _HTTP.replace(" OK", ""))),
        "HTTP/2": Odd(_with_http("h2", _HTTP.replace("HTTP/1.1", "HTTP/2").lower())),
        "ICY": Odd(_with_http("icy", _HTTP.replace("HTTP/1.1", "ICY"))),
        "an empty line in front": Odd(_with_http("empty", f"\r\n{_HTTP}")),
        "two types": Odd(_with_http("types", f"{start}Content-Type: text/plain\r\nContent-Type: text/html\r\n\r\n")),
        "a folded header": Odd(_with_http("folded", f"{start}X-A: b\r\n  c\r\nContent-Type: text/html\r\n\r\n")),
        "a header in Latin-1": Odd(_with_http("latin", f"{start}X-A: caf\xe9\r\nContent-Type: text/html\r\n\r\n")),
        "no type of HTTP": Odd(_with_http("type", f"{start}Server: x\r\n\r\n")),
        "a type that says nothing": Odd(_with_http("stream", f"{start}Content-Type: application/octet-stream\r\n\r\n")),
        "no HTTP head": Odd(_with_http("none", ""), False),
        "another status": Odd(_with_http("gone", _HTTP.replace("200 OK", "404 Not Found")), False),
    }


def _encodings() -> Mapping[str, Odd]:
    gz, gzipped = gzip.compress, "Content-Encoding: gzip"
    bodies = {name: html(name) for name in "abcdefghijklmnopstuvwxyz"}
    return {
        "raw deflate": Odd(_encoded("a", "Content-Encoding: deflate", zlib.compress(bodies["a"])[2:-4])),
        "deflate": Odd(_encoded("b", "Content-Encoding: deflate", zlib.compress(bodies["b"]))),
        "x-gzip": Odd(_encoded("c", "Content-Encoding: x-gzip", gz(bodies["c"]))),
        "zstd": Odd(_encoded("d", "Content-Encoding: zstd", zstd.compress(bodies["d"]))),
        "two encodings": Odd(_encoded("e", "Content-Encoding: gzip, zstd", zstd.compress(gz(bodies["e"])))),
        "two members": Odd(_encoded("f", gzipped, gz(bodies["f"][:90]) + gz(bodies["f"][90:]))),
        "gzip that is cut off": Odd(_encoded("g", gzipped, gz(bodies["g"])[:-9])),
        "an encoding that does not exist": Odd(_encoded("h", "Content-Encoding: UTF-8", bodies["h"])),
        "one that does not exist, and gzip": Odd(_encoded("i", "Content-Encoding: gzip, utf-8", gz(bodies["i"]))),
        "identity": Odd(_encoded("j", "Content-Encoding: identity", bodies["j"])),
        "plain instead of gzip": Odd(_encoded("k", gzipped, bodies["k"])),
        "plain instead of br": Odd(_encoded("l", "Content-Encoding: br", b"\n\n" + bodies["l"])),
        "plain instead of chunks": Odd(_encoded("m", "Transfer-Encoding: chunked", bodies["m"])),
        "chunks": Odd(_encoded("n", f"{gzipped}\r\nTransfer-Encoding: chunked", _chunked(gz(bodies["n"])))),
        "gzip without chunks": Odd(_encoded("o", f"{gzipped}\r\nTransfer-Encoding: chunked", gz(bodies["o"]))),
        "plain without both": Odd(_encoded("p", f"{gzipped}\r\nTransfer-Encoding: chunked", bodies["p"])),
        "gzip instead of br": Odd(_encoded("s", "Content-Encoding: br", gz(bodies["s"]))),
        "gzip instead of deflate": Odd(_encoded("t", "Content-Encoding: deflate", gz(bodies["t"]))),
        "gzip instead of an unknown encoding": Odd(_encoded("u", "Content-Encoding: dcb", gz(bodies["u"]))),
        "gzip that stores": Odd(_encoded("v", gzipped, gz(bodies["v"], 0))),
        "plain behind blanks": Odd(_encoded("w", gzipped, b"\xef\xbb\xbf" + b" \r\n" * 1_000 + bodies["w"])),
        "plain with a null byte": Odd(_encoded("x", gzipped, bodies["x"].replace(b">", b">\0", 1))),
        "plain with a control character": Odd(_encoded("y", gzipped, bodies["y"].replace(b">", b">\x08", 1))),
        "plain behind text without a tag": Odd(
            _encoded("z", "Content-Encoding: deflate", "Größe, ".encode() * 300 + bodies["z"])
        ),
        "bytes that are no gzip": Odd(_encoded("q", gzipped, bytes(range(200))), False),
        "an encoding that is not known": Odd(_encoded("r", "Content-Encoding: dcb", bytes(range(200))), False),
    }


ODD: Mapping[str, Odd] = {**_damaged(), **_unusual(), **_http(), **_encodings()}
"""Odd records by what is odd about them."""


def write_with_neighbours(path: Path, odd: bytes, pages: Sequence[Page], at: int) -> Path:
    """Write a file with sound *pages*, and an odd record behind the first *at* of them."""
    records = [warc_record(page.url, page.html.encode()) for page in pages]
    path.write_bytes(b"".join(pack(path, record) for record in [*records[:at], odd, *records[at:]]))
    return path


def read_with_warcio(path: Path) -> list[tuple[str | None, int]]:
    with path.open("rb") as file:
        records = warcio.archiveiterator.ArchiveIterator(file)
        return [
            (record.rec_headers.get_header("WARC-Record-ID"), record.length)
            for record in records
            if record.raw_stream.read() is not None
        ]


def read_with_fastwarc(path: Path) -> list[tuple[str | None, int]]:
    with path.open("rb") as file:
        records = fastwarc.warc.ArchiveIterator(file, parse_http=False)
        return [(record.headers.get("WARC-Record-ID"), len(record.reader.read())) for record in records]
