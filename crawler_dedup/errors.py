"""The exceptions of this package."""

from __future__ import annotations

from collections.abc import Mapping

from crawler_dedup.urls import text_without_credentials


class DedupError(Exception):
    """Base class of the package's errors. Addresses in their messages lose user names and passwords.

    Attributes:
        is_logged: whether its message was logged already.
    """

    is_logged = False

    def __init__(self, *args: object) -> None:
        super().__init__(*(text_without_credentials(value) if isinstance(value, str) else value for value in args))


class ConfigError(DedupError, ValueError):
    """A setting has a value that is not allowed; the message names setting, value and what is allowed."""


class ExtraMissing(ConfigError):
    """The packages of a requested feature are not installed; the message names the extra that has them."""


class IndexUnusable(DedupError):
    """The index cannot be opened, read or written; the message says why."""


class IndexMissing(IndexUnusable):
    """There is no index in the directory, or at the address."""


class IndexDamaged(IndexUnusable):
    """The content of the index is not what this package wrote: the file is damaged or cut off."""


class ConnectionLost(IndexUnusable):
    """The server of the index is unavailable: it is not known whether it has run the last command."""


class IndexGone(IndexUnusable):
    """The index was removed or replaced after it was opened."""


class IndexMismatch(DedupError):
    """The index, or an export, was made with another configuration, so that its signatures cannot be compared.

    Attributes:
        name: what the message calls it: ``The index in`` and its location, for example.
        differences: name of an option → its value, and that of this process.
        remedy: what to do, as a sentence.
    """

    def __init__(self, name: str, differences: Mapping[str, tuple[object, object]], remedy: str) -> None:
        self.name = name
        self.differences = dict(differences)
        self.remedy = remedy
        super().__init__(self._describe())

    def _describe(self) -> str:
        lines = [f"  {name}: made with {theirs!r}, now {ours!r}" for name, (theirs, ours) in self.differences.items()]
        return "\n".join([f"{self.name} was made with another configuration:", *lines, self.remedy])

    def __reduce__(self) -> tuple[type[IndexMismatch], tuple[str, dict[str, tuple[object, object]], str]]:
        return type(self), (self.name, self.differences, self.remedy)


class BeyondLimits(DedupError, ValueError):
    """The page is too large, too deep or too long to be read; the message is the reason, in a few words."""


class ExportUnreadable(DedupError):
    """An exported index cannot be read: it is damaged, cut off, not an export, or of another format."""
