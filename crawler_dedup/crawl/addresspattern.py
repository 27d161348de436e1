"""Find a regular expression for many addresses of one host, with which a spider can refuse their links."""

from __future__ import annotations

import re

_MAX_CHARS = 500
_MAX_PARAMETERS = 20
_NUMBER = r"\d+"
_token = re.compile(r"\d+|[^\W\d_]+|.", re.DOTALL)
_special = re.compile(r"[.^$*+?{}\[\]\\|()]")


class AddressPattern:
    """What addresses have in common: their beginning, in which numbers may differ, and the parameters of all of them."""

    def __init__(self, url: str) -> None:
        self._tokens = _tokens(url)
        self._is_whole = True
        self._parameters: dict[str, str | None] = dict(_parameters(url))  # None: the values differ

    def add(self, url: str) -> None:
        """Make the pattern match *url*, too."""
        tokens, common = _tokens(url), list[str]()
        for ours, other in zip(self._tokens, tokens, strict=False):
            if ours != other and not (other.isdecimal() and (ours == _NUMBER or ours.isdecimal())):
                break
            common.append(ours if ours == other else _NUMBER)
        self._is_whole &= len(common) == len(self._tokens) == len(tokens)
        self._tokens = common
        others = dict(_parameters(url))
        self._parameters = {
            name: value if value == others[name] else None for name, value in self._parameters.items() if name in others
        }

    def __str__(self) -> str:
        """Return the expression; empty if the addresses have only their host in common. It matches in linear time."""
        beginning = "".join([token if token == _NUMBER else _escape(token) for token in self._tokens])
        host, _, path = beginning.partition("/")
        if self._is_whole:
            return f"^https?://{beginning}$" if path else ""
        left = {name: value for name, value in self._parameters.items() if f"{_escape(name)}=" not in path}
        same = {name: value for name, value in left.items() if value}
        parameter = ""
        for name, value in (same or left).items():  # the last wins: two ".*" would take quadratic time
            parameter = f".*[?&]{_escape(name)}=" + (f"{_escape(value)}(?:&|$)" if value else "")
        return f"^https?://{host}/{path}{parameter}" if re.search(r"\w", path + parameter) else ""


def _tokens(url: str) -> list[str]:
    return _token.findall(url[:_MAX_CHARS].partition("#")[0].partition("://")[2])


def _parameters(url: str) -> list[tuple[str, str]]:
    pairs = url[:_MAX_CHARS].partition("#")[0].partition("?")[2].split("&")[:_MAX_PARAMETERS]
    return [(name, value) for name, is_parameter, value in (pair.partition("=") for pair in pairs) if is_parameter]


def _escape(text: str) -> str:
    return _special.sub(r"\\\g<0>", text).replace('"', r"\x22")  # the expression is pasted between quotation marks
