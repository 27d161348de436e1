"""The location of an index: a directory, or a server."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from crawler_dedup.errors import ConfigError

SERVER_SCHEMES = ("redis", "rediss", "unix")
"""Schemes of the addresses of servers: over TCP, with TLS, through a socket of this machine."""

_NAME = re.compile(r"[\w.-]{1,64}")
_DATABASE = re.compile(r"(/\d*)?/?")
_INDEX = "index"
_ONLY_INDEX = "0"


@dataclass(frozen=True)
class ServerAddress:
    """The address of an index on a Valkey or Redis server.

    Attributes:
        url: address of the server and its database, perhaps with a user name and a password. It is shown in no message.
        index: name of the index; a database may contain several.
    """

    url: str = field(repr=False)
    index: str = _ONLY_INDEX

    @property
    def password(self) -> str:
        """The password, which no message may contain; ``""`` if there is none."""
        return unquote(urlsplit(self.url).password or "")

    @property
    def user(self) -> str:
        """The user name, which no message may contain either; ``""`` if there is none."""
        return unquote(urlsplit(self.url).username or "")

    def __str__(self) -> str:
        """Return the address without user name, password and options."""
        parts = urlsplit(self.url)
        name = "" if self.index == _ONLY_INDEX else self.index
        options = {**dict(parse_qsl(parts.query)), _INDEX: name}
        return _join(parts.scheme, parts.netloc.rpartition("@")[2], parts.path, options)


Location = Path | ServerAddress
"""A directory, or an index on a server."""


def find_location(text: str | os.PathLike[str]) -> Location:
    """Return the location that *text* names: the address of a server, or the path of a directory.

    Raises:
        ConfigError: it looks like the address of a server, but is not valid.
    """
    address = os.fspath(text)
    scheme = address.partition("://")[0].lower()
    if "://" not in address or scheme not in SERVER_SCHEMES:
        return Path(address)
    parts = urlsplit(address)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    options = dict(pairs)
    name = options.pop(_INDEX, _ONLY_INDEX)
    are_options = len(pairs) == len(dict(pairs)) and options.keys() <= {"db"} and all(options.values())
    if not _has_place(parts) or parts.fragment or not _NAME.fullmatch(name) or not are_options:
        raise ConfigError(
            "The address of the index (DEDUP_INDEX, or an argument) is wrong. Write redis://host[:port][/database][?index=NAME]"
            ", the same with rediss:// (TLS), or unix:///path/of/socket[?db=database&index=NAME]. NAME may have letters,"
            " digits and _ . -; user and password stand before the host, as in addresses of pages"
        )
    return ServerAddress(_join(scheme, parts.netloc, parts.path, options), name)


def _has_place(parts: SplitResult) -> bool:
    """Return whether an address names a server, and no part of it may come from a password that contains ``/``."""
    try:
        if (parts.port or 1) <= 0:
            return False
    except ValueError:
        return False
    if parts.scheme == "unix":
        return bool(parts.path.strip("/")) and (not parts.netloc or "@" in parts.netloc)
    return bool(parts.hostname and _DATABASE.fullmatch(parts.path))


def _join(scheme: str, host: str, path: str, options: Mapping[str, str]) -> str:
    query = urlencode({option: value for option, value in options.items() if value})
    return f"{scheme}://{host}{path}{'?' if query else ''}{query}"
