"""Addresses: removing user names and passwords, and finding hosts; the keys and scopes of pages, which may be addresses.

Every address goes through :func:`without_credentials` on its way to index, journal, log, statistics, report and terminal;
text that may contain addresses through :func:`text_without_credentials`; page keys and scopes given by users through
:func:`identifier_without_credentials`.

Where an address begins, and where its user name and password end:

- An address begins with a special scheme (http, https, ftp, ws, wss) and its colon, and any number of slashes; with another
  scheme and two slashes; or with two slashes alone, at the start of the text or of a value (``?next=//…``). As in browsers,
  a backslash is a slash, and tabs and line breaks are ignored. An address may contain other addresses, in its path, query
  or fragment, also percent-encoded, once or several times.
- The authority ends at the first ``/``, ``?`` or ``#``, in a query at ``&`` too. Everything in it before its last ``@`` is
  user name and password.
- If the rest of the authority is no host (``user:pa`` of ``http://user:pa/ss@h/``: "pa" is no port), the address is badly
  written, and everything up to the last ``@`` is user name and password; in a query, up to the last ``@`` before ``&``.
  This applies to the outermost address, and to addresses within it that have a special scheme.

Any other ``@`` is left alone (``https://example.com/@user``, ``mailto:user@example.com``), as is the ``@`` of
``http://host:80/p@x``, which is a well written address.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache, lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from xxhash import xxh3_64_hexdigest, xxh3_128_digest

NAME_BYTES = 12
"""Length of the hash of a page key, in bytes."""
_REMEMBERED = 512  # addresses: the site of a page is needed several times
_AT = "@\uff20\ufe6b"  # encoding a host name turns the other two into the first
_FLAGS = re.IGNORECASE | re.ASCII
_PLAIN_HOST = re.compile(r"https?://([a-z0-9.-]+(?::\d+)?)(?:[/?#][^\t\r\n]*)?\Z", re.ASCII)
_HAS_AT = re.compile(f"[{_AT}]|%(?:25)*40")
_ANY_AT = re.compile(f"[{_AT}]")

_IGNORED_CHARACTERS = dict.fromkeys(map(ord, "\t\r\n"))
# What browsers ignore, and characters that are percent-encoded once, once or twice, or any number of times; each is
# searched for only if the text contains its mark.
_ESCAPES = tuple(
    (mark, re.compile(r"[\t\r\n]" + escape, _FLAGS))
    for mark, escape in (
        ("", ""),
        ("%", "|%(?P<code>[0-9a-f]{2})"),
        ("%25", "|%(?:25)?(?P<code>[0-9a-f]{2})"),
        ("%2525", "|%(?:25)*(?P<code>[0-9a-f]{2})"),
    )
)

_SPECIAL = "|".join(rf"(?<=\b{scheme}:)" for scheme in ("http", "https", "ftp", "ws", "wss"))
_BEFORE_VALUE = r"[\s=?#&,;|(<\"']"
_PORT = "(?:[0-5]?[0-9]{1,4}|6(?:[0-4][0-9]{3}|5(?:[0-4][0-9]{2}|5(?:[0-2][0-9]|3[0-5]))))"
_HOST = rf"(?:[^:]+|\[[0-9a-f:.]*(?:%[^\]]*)?\])(?::{_PORT})?"


class _Grammar(NamedTuple):
    """Patterns that find addresses.

    Attributes:
        address: matches the beginning of an address, and its authority.
        host: matches a host with or without its port.
        is_text: whether the patterns search a text; if not, they search a single address, which may contain others.
    """

    address: re.Pattern[str]
    host: re.Pattern[str]
    is_text: bool


def _grammar(end: str, slashes: str, host: str, *, is_text: bool) -> _Grammar:
    """Make patterns for authorities that also end at the characters *end*, and non-special schemes followed by *slashes*."""
    begin = rf":(?:(?P<special>{_SPECIAL})(?P<slashes>[/\\]*)|[/\\]{slashes})"
    relative = rf"[/\\](?:(?<={_BEFORE_VALUE}[/\\])|(?<=\A[/\\]))[/\\]+"
    userinfo = rf"[^/\\?#{end}]+[{_AT}]"
    rest = (
        rf"[^/\\?#:{end}]*(?::(?![/\\])[^/\\?#:{end}]*)*"  # a colon before a slash is perhaps that of the next address
    )
    address = rf"(?:{begin}|{relative})(?P<userinfo>{userinfo})?(?P<host>{rest})"
    return _Grammar(re.compile(address, _FLAGS), re.compile(host, _FLAGS), is_text)


_ADDRESS = _grammar("", "{2}", _HOST, is_text=False)
_PARAMETER = _grammar("&", "{2}", _HOST, is_text=False)
_TEXT = _grammar(r"\s", "{2,}", rf"{_HOST}(?:&[^\s{_AT}]*|[\"'>)\].,;!:]*)", is_text=True)

_SCHEME = re.compile(r"\s*(?:[a-z][a-z0-9+.\-]*)?", _FLAGS)
_QUERY = re.compile("[?#]")
_NEXT_ADDRESS = re.compile(rf":(?:{_SPECIAL}|[/\\]{{2}})", _FLAGS)
_LINE = re.compile(r"[^\n]+")
_QUOTES = r"\"'(<\[{"
_WITHOUT_SCHEME = re.compile(
    rf"(?<!\S)([{_QUOTES}]*)(?!(?:https?|ftp|wss?):)[^\s/\\?#:{_AT}{_QUOTES}][^\s/\\?#:{_AT}]*:[^\s/\\?#]*[{_AT}]",
    _FLAGS,
)

Span = tuple[int, int]


def without_credentials(url: str) -> str:
    """Return *url* without user names and passwords, also those of addresses within it; unchanged if it has none."""
    if _has_plainly_none(url):
        return url
    plain = url.translate(_IGNORED_CHARACTERS)
    shown = _without(plain) if _HAS_AT.search(plain) else plain
    return url if shown == plain else shown


def _has_plainly_none(text: str) -> bool:
    """Return whether a quick check shows that a text has no user name, which is true of nearly all texts."""
    return "@" not in text and "%" not in text and text.isascii()


def text_without_credentials(text: str) -> str:
    """Return *text* (a message, a traceback) without the user names and passwords of the addresses in it.

    More is removed from a badly written address than by :func:`without_credentials`: all up to the last ``@`` of the line.
    ``user:password@host`` is an address too.
    """
    return _LINE.sub(_line_without_credentials, text) if _HAS_AT.search(text) else text


def identifier_without_credentials(identifier: str) -> str:
    """Return the key of a page or the name of a scope without user names and passwords, so that it can be stored.

    It may be an address, or ``user:password@host``. If something was removed, a digest of the whole identifier is added, so
    that different identifiers stay different.
    """
    if _has_plainly_none(identifier):
        return identifier
    before, shown = "", identifier
    while shown != before:  # the remaining text may contain credentials again
        before, shown = shown, _WITHOUT_SCHEME.sub(r"\1", without_credentials(shown))
    if shown == identifier:
        return escape_surrogates(identifier)
    digest = blake2b(identifier.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{escape_surrogates(shown)} {digest}"


def escape_surrogates(text: str) -> str:
    """Return *text* with its lone surrogates written as escapes: UTF-8 cannot encode them."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def hash_page_key(scope: str, key: str) -> bytes:
    """Return a 96-bit hash of a page key: among 10^9 pages, two have the same with a probability of 10^-11."""
    # The length distinguishes ("a", "bc") and ("ab", "c").
    return xxh3_128_digest(f"{len(scope)}:{scope}{key}".encode("utf-8", "replace"))[:NAME_BYTES]


def host_of(url: str) -> str:
    """Return the host of an address, ``""`` if it has none."""
    plain = _PLAIN_HOST.match(url)
    if plain and not _HAS_AT.search(url):
        return plain[1].removeprefix("www.")
    try:
        return urlsplit(without_credentials(url)).netloc.lower().rpartition("@")[2].removeprefix("www.")
    except ValueError:
        return ""


@lru_cache(maxsize=_REMEMBERED)
def site_of(url: str) -> str:
    """Return the site of an address, ``""`` if it has none: its host without ``www.`` and without the usual port."""
    return host_of(url).removesuffix(":80").removesuffix(":443")


def registered_domain(url: str) -> str:
    """Return the registered domain of an address (``example.co.uk``), in lower case; its host if it has none."""
    parts = _domain_splitter()(url)
    host = ".".join(filter(None, (parts.subdomain, parts.domain, parts.suffix)))
    return str(parts.top_domain_under_public_suffix or host).lower()


@cache
def _domain_splitter() -> Any:
    import tldextract  # noqa: PLC0415  (slow, and seldom needed)

    # Only the list of public suffixes that comes with the package: nothing is fetched.
    return tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)


def placeholder_address(identifier: str) -> str:
    """Return an address for a page that has none: on a host of its own, so that relative links are still links."""
    return f"http://{xxh3_64_hexdigest(identifier.encode('utf-8', 'surrogatepass'))}.invalid/"


def _line_without_credentials(line: re.Match[str]) -> str:
    return _without(_WITHOUT_SCHEME.sub(r"\1", line[0]), _TEXT) if _HAS_AT.search(line[0]) else line[0]


def _without(text: str, grammar: _Grammar | None = None) -> str:
    """Return *text* without the credentials found in it undecoded, decoded once, twice, and completely decoded."""
    for mark, escape in _ESCAPES:
        if mark not in text:
            break
        plain, places = _decoded(text, escape)
        end = 0
        pieces = []
        for first, last in _credentials(plain, grammar):
            pieces.append(text[end : places.of(first)])
            end = places.of(last)
        text = "".join([*pieces, text[end:]])
    return text


class _Places:
    """Positions of the characters of a decoded text in the encoded text."""

    def __init__(self) -> None:
        self._decoded = [0]
        self._encoded = [0]

    def add(self, decoded: int, encoded: int) -> None:
        """Note that the position *decoded* is at *encoded*, and that positions up to the next added one follow in step."""
        self._decoded.append(decoded)
        self._encoded.append(encoded)

    def of(self, decoded: int) -> int:
        """Return the position in the encoded text of the position *decoded*."""
        last = bisect_right(self._decoded, decoded) - 1
        return self._encoded[last] + decoded - self._decoded[last]


def _decoded(text: str, escape: re.Pattern[str]) -> tuple[str, _Places]:
    places, pieces = _Places(), []
    end = size = 0
    for encoded_character in escape.finditer(text):
        pieces.append(text[end : encoded_character.start()])
        size += encoded_character.start() - end
        character = chr(int(encoded_character["code"], 16)) if encoded_character.lastgroup else "\t"
        if character not in "\t\r\n":
            pieces.append(character)
            places.add(size, encoded_character.start())
            size += 1
        places.add(size, encoded_character.end())
        end = encoded_character.end()
    pieces.append(text[end:])
    return "".join(pieces), places


def _credentials(text: str, grammar: _Grammar | None) -> Iterator[Span]:
    """Yield the spans of user names and passwords in *text*, in order."""
    if grammar is not None:
        yield from _credentials_between(text, 0, len(text), len(text), grammar)
        return
    query = _QUERY.search(text)
    begin = end = query.start() if query else len(text)
    for span in _credentials_between(text, 0, end, len(text), _ADDRESS):
        yield span
        end = max(end, span[1])
    while at := _ANY_AT.search(text, end):
        begin = max(begin, text.rfind("&", end, at.start()))
        end = text.find("&", at.end())
        end = len(text) if end < 0 else end
        yield from _credentials_between(text, begin, end, end, _PARAMETER)


def _credentials_between(text: str, begin: int, end: int, farthest: int, grammar: _Grammar) -> Iterator[Span]:
    """Yield the spans in addresses that begin between *begin* and *end*; if badly written, they may reach *farthest*."""
    last = max(text.rfind(at, begin, farthest) for at in _AT)
    scheme = None if begin else _SCHEME.match(text)  # a parameter is part of an address
    outermost = scheme.end() if scheme else -1
    for address in grammar.address.finditer(text, begin, end):
        if address["userinfo"]:
            yield address.span("userinfo")
        if last >= address.start("host") and _is_badly_written(address, grammar, address.start() == outermost):
            yield address.start("host"), last + 1
            return


def _is_badly_written(address: re.Match[str], grammar: _Grammar, is_outermost: bool) -> bool:
    """Return whether user name and password are not followed by a host, so that they may be longer."""
    is_special = address["special"] is not None
    if not (is_special or is_outermost or address["userinfo"] or grammar.is_text):
        return False
    if address.string.startswith(":", address.end()):  # and a slash
        return not _NEXT_ADDRESS.match(address.string, address.end())
    if not address["host"]:
        return address["userinfo"] is not None or (is_special and len(address["slashes"]) > 1)
    return not grammar.host.fullmatch(address["host"])
