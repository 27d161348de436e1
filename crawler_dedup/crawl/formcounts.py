"""Counts of the forms of pages that pass; nothing is dropped because of them.

Pages of one host that differ only in numbers, dates or parts of their address may be a calendar without end, or an error
page with status 200; the worker reads their forms (:mod:`crawler_dedup.signing.forms`).
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from crawler_dedup.crawl.counting import MAX_CHARS, HeavyHitters, Use

LIMIT = 100
"""A form is reported when this many pages that pass have it."""
MAX_FORMS = 2_000
"""Number of forms that are counted at the same time."""
COMPARED = 1_000
"""Number of the latest pages that pass, none of whose addresses may match the pattern of a form that they lack."""
_MAX_PARAMETERS = 20
_NUMBER = r"\d+"
_token = re.compile(r"\d+|[^\W\d_]+|.", re.DOTALL)
_special = re.compile(r"[.^$*+?{}\[\]\\|()]")


@dataclass(slots=True)
class FormUse(Use):
    """The pages of one host that pass and have one form.

    Attributes:
        path: the common beginning of their addresses, up to a slash.
        pattern: an expression for their addresses and for no other of the latest; empty if there is none. Known when the
            form is reported.
    """

    path: str = ""
    pattern: str = ""
    _addresses: AddressPattern | None = None

    def add(self, url: str, limit: int) -> bool:
        self.path = _common_path(self.path, url) if self.path else _directory(url)
        if self._addresses is None:
            self._addresses = AddressPattern(url)
        elif self.count < limit:
            self._addresses.add(url)
        return Use.add(self, url, limit)

    def find_pattern(self, other_urls: Iterable[str]) -> None:
        """Set the pattern, unless an address of another page matches it, too."""
        pattern = str(self._addresses)
        if not any(re.match(pattern, url) for url in other_urls):
            self.pattern = pattern


class FormCounts:
    """Counts the forms of the pages that pass in one crawl."""

    def __init__(self) -> None:
        self._forms = HeavyHitters[bytes, FormUse](MAX_FORMS, FormUse)
        self._latest: deque[tuple[str, Sequence[bytes]]] = deque(maxlen=COMPARED)

    def add(self, url: str, forms: Sequence[bytes]) -> FormUse | None:
        """Count a page that passes. Return its form if that is to be reported now.

        A page with a form that was reported already is counted only for that form.
        """
        self._latest.append((url[:MAX_CHARS], forms))
        reported = [form for form in forms if (use := self._forms.get(form)) is not None and use.count >= LIMIT]
        for form in reported[:1] or forms:
            use = self._forms.add(form)
            if use.add(url, LIMIT):
                use.find_pattern(other for other, its_forms in self._latest if form not in its_forms)
                return use
        return None


def _directory(url: str) -> str:
    return url[:MAX_CHARS].partition("?")[0].rpartition("/")[0] + "/"


def _common_path(path: str, url: str) -> str:
    """Return what *path*, which ends in a slash, and the address *url* have in common, up to a slash."""
    pairs = zip(path.split("/")[:-1], _directory(url).split("/")[:-1], strict=False)
    return "/".join([first for first, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]) + "/"


class AddressPattern:
    """A regular expression for many addresses of one host, with which a spider can refuse their links.

    It has what they have in common: their beginning, in which numbers may differ, and the parameters of all of them.
    """

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
    return _token.findall(url[:MAX_CHARS].partition("#")[0].partition("://")[2])


def _parameters(url: str) -> list[tuple[str, str]]:
    pairs = url[:MAX_CHARS].partition("#")[0].partition("?")[2].split("&")[:_MAX_PARAMETERS]
    return [(name, value) for name, is_parameter, value in (pair.partition("=") for pair in pairs) if is_parameter]


def _escape(text: str) -> str:
    return _special.sub(r"\\\g<0>", text).replace('"', r"\x22")  # the expression is pasted between quotation marks
