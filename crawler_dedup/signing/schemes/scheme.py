"""Base classes of signature schemes: text → signature → keys that similar pages share → agreement of two signatures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

import numpy as np
from xxhash import xxh3_64_intdigest

from crawler_dedup.config import Config
from crawler_dedup.errors import ConfigError
from crawler_dedup.hashes import Numbers, sort_distinct
from crawler_dedup.signedpage import Signature
from crawler_dedup.signing.features import Features
from crawler_dedup.signing.text import Text


@dataclass(frozen=True)
class Agreement:
    """How closely a new text agrees with a kept text. A value that the scheme does not measure is ``None``.

    Attributes:
        distance: Hamming distance of the signatures, in bits; ``DEDUP_MAX_DISTANCE`` decides.
        resemblance: ``|A∩B| / |A∪B|`` of what the scheme compares, 0 to 1.
        coverage: ``|A∩B| / |A|``, where A is what the scheme compares of the new text, 0 to 1.

    >>> Agreement(resemblance=0.8, coverage=0.9)
    Agreement(distance=None, resemblance=0.8, coverage=0.9)
    """

    distance: int | None = None
    resemblance: float | None = None
    coverage: float | None = None

    def if_at_least(self, resemblance: float, coverage: float) -> Agreement | None:
        """Return the agreement if it reaches these values, else ``None``."""
        is_enough = (self.resemblance or 0) >= resemblance and (self.coverage or 0) >= coverage
        return self if is_enough else None


def containment(estimate: float, size: int, other: int) -> float:
    """Return |A∩B| / |A| of sets with *size* and *other* members whose resemblance is *estimate* (Broder 1997, §2)."""
    if not size:
        return 1.0
    common = min(estimate / (1 + estimate) * (size + other), size, other)
    return common / size


def compare_members(ours: Numbers, theirs: Numbers) -> Agreement:
    """Compare two sets, given ascending and distinct, neither of them empty."""
    common = len(np.intersect1d(ours, theirs, assume_unique=True))
    return Agreement(resemblance=common / (len(ours) + len(theirs) - common), coverage=common / len(ours))


PATH = "a path without spaces"
"""What an option takes that names a file."""


def option(default: Any, allowed: str, *, filed: bool = True, added_later: bool = False) -> Any:
    """Declare a field of a scheme that ``DEDUP_SCHEME`` can set: an int, a float or a str.

    Args:
        allowed: "LOW to HIGH", words separated by ``|``, or :data:`PATH`.
        filed: whether signatures or keys depend on it; if not, the option may change from run to run on one index.
        added_later: whether there are indexes that are older than the option. Its default is then left out of the header.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Openings(ValueScheme):
    ...     name = "openings"
    ...     first: int = option(30, "5 to 1000")
    >>> Openings.read({"first": "50"})
    {'first': 50}
    """
    return field(default=default, metadata={"allowed": allowed, "filed": filed, "added_later": added_later})


@dataclass(frozen=True)
class Scheme(ABC):
    """A scheme with its options, which are the fields made by :func:`option`.

    Pure: signatures depend on the text, the options, and what :attr:`depends_on` names.

    >>> from crawler_dedup.signing.schemes import scheme_of
    >>> scheme = scheme_of("minhash shingle=3")
    >>> new, kept = (scheme.sign(Text(text, cut_han=list)) for text in ("It rains again.", "it rains, again"))
    >>> scheme.compare(new, kept)
    Agreement(distance=None, resemblance=1.0, coverage=1.0)
    """

    name: ClassVar[str]
    """Name of the scheme in ``DEDUP_SCHEME``."""
    fixed: ClassVar[str] = ""
    """``name=value`` words in the index header beside the options: a change to them requires a new index."""
    bucket_limit: ClassVar[int | None] = 4_000
    """About how many pages a look-up reads under one key: the first, so that a frequent key costs no more. ``None``: all."""
    libraries: ClassVar[Sequence[str]] = ()
    """Distributions on whose version signatures depend."""

    @classmethod
    def build(cls, options: Mapping[str, str], config: Config) -> Self:  # noqa: ARG003  (for schemes that need more)
        """Make the scheme with *options*, as ``DEDUP_SCHEME`` or an index header names them.

        Raises:
            ConfigError: there is no such option, or it does not take that value.
        """
        return cls(**cls.read(options))

    @classmethod
    def read(cls, options: Mapping[str, str]) -> dict[str, Any]:
        """Read *options* and return their values by field. Raises as :meth:`build`."""
        fixed = dict(word.split("=", 1) for word in cls.fixed.split())
        known = {item.name: item for item in fields(cls) if "allowed" in item.metadata}
        values = {}
        for name, value in options.items():
            if fixed.get(name) == value:
                continue
            if name not in known:
                raise ConfigError(
                    f"The scheme {cls.name} has no option {name}={value}; it has {', '.join(known) or 'none'}."
                )
            values[name] = _read(cls.name, name, value, known[name].default, known[name].metadata["allowed"])
        return values

    @property
    def spec(self) -> str:
        """Name and options that signatures and keys depend on, for :func:`~crawler_dedup.signing.schemes.scheme_of`."""
        filed = ((item, getattr(self, item.name)) for item in fields(self) if item.metadata.get("filed"))
        chosen = [
            f"{item.name}={value}" for item, value in filed if not item.metadata["added_later"] or value != item.default
        ]
        return " ".join([self.name, *self.fixed.split(), *chosen])

    @property
    def depends_on(self) -> dict[str, str]:
        """Further entries of the index header: what else signatures depend on, such as the digest of a lexicon."""
        return {}

    def features_of(self, text: Text) -> Features:
        """Return the words of *text* as the scheme weighs them. A lexicon for the scheme counts these words."""
        return text.features

    def load(self) -> None:
        """Load what signing needs. Called before the first text is signed."""
        return

    @abstractmethod
    def sign(self, text: Text) -> Signature:
        """Return the signature of *text*."""

    @abstractmethod
    def keys(self, signature: Signature) -> Sequence[int]:
        """Return the buckets under which a page with *signature* is filed: distinct, 64 bits each."""

    def probes(self, signature: Signature) -> Sequence[int]:
        """Return the buckets to search for pages that are similar to a page with *signature*."""
        return self.keys(signature)

    @abstractmethod
    def near(self, signature: Signature, filed: Numbers) -> Sequence[int]:
        """Return the numbers to compare with *signature*, distinct, nearest first.

        They are chosen from *filed*, the numbers in the probed buckets: a number occurs once for each bucket that has it.
        """

    def finds(self, new: Signature, kept: Signature) -> bool:
        """Return whether a look-up of *new* finds *kept*."""
        common = len(set(self.probes(new)) & set(self.keys(kept)))
        return kept.number in self.near(new, np.full(common, kept.number, dtype=np.uint64))

    @abstractmethod
    def compare(self, new: Signature, kept: Signature) -> Agreement | None:
        """Return how *new* agrees with *kept*; ``None`` if it does not.

        Directional: an agreement means that *new* may be dropped because *kept* is kept.
        """

    def measure(self, new: Signature, kept: Signature) -> Agreement | None:
        """Compare two signatures even if they do not agree; return ``None`` if the scheme can measure nothing."""
        return self.compare(new, kept)


class ValueScheme(Scheme):
    """A scheme whose signatures do not fit 64 bits: a value is stored, and some of the keys made of it must agree.

    A text of which the scheme can make no value is signed by the hash of its words, and agrees with equal texts only.

    >>> import numpy as np
    >>> class Openings(ValueScheme):
    ...     def value(self, text): return text.plain[:8].encode()
    ...     def keys_of(self, value): return np.frombuffer(value, np.uint64)
    ...     def agree(self, new, kept): return Agreement() if new == kept else None
    >>> Openings().sign(Text("Rain again", cut_han=list)).value
    b'rain aga'
    """

    @abstractmethod
    def value(self, text: Text) -> bytes:
        """Return the value to store for *text*; empty if the scheme can make none."""

    @abstractmethod
    def keys_of(self, value: bytes) -> Numbers:
        """Return the keys of *value*, at least one, perhaps repeated. May raise :class:`ValueError` for a damaged value."""

    def probes_of(self, value: bytes) -> Numbers:
        """Return the buckets to search for pages that are similar to a page with *value*. Raises as :meth:`keys_of`."""
        return self.keys_of(value)

    def least_hits(self, value: bytes) -> int:  # noqa: ARG002  (for schemes that require more)
        """Return the least number of probed buckets that a page must be filed in to be compared."""
        return 1

    @abstractmethod
    def agree(self, new: bytes, kept: bytes) -> Agreement | None:
        """Compare as :meth:`compare` does, for two values that are not empty."""

    def shares(self, new: bytes, kept: bytes) -> Agreement | None:
        """Compare two values that are not empty, even if they do not agree; ``None`` if there is no measure for these."""
        return self.agree(new, kept)

    def sign(self, text: Text) -> Signature:
        value = self.value(text)
        return Signature(xxh3_64_intdigest(value or text.unit_hashes.tobytes()), value)

    def keys(self, signature: Signature) -> Sequence[int]:
        return self._distinct(signature, self.keys_of)

    def probes(self, signature: Signature) -> Sequence[int]:
        return self._distinct(signature, self.probes_of)

    def near(self, signature: Signature, filed: Numbers) -> Sequence[int]:
        numbers, hits = np.unique(filed, return_counts=True)
        enough = hits >= (self.least_hits(signature.value) if signature.value else 1)
        numbers, hits = numbers[enough], hits[enough]
        return [*numbers[np.argsort(-hits, kind="stable")].tolist()]

    def compare(self, new: Signature, kept: Signature) -> Agreement | None:
        return self._of_values(self.agree, new, kept)

    def measure(self, new: Signature, kept: Signature) -> Agreement | None:
        return self._of_values(self.shares, new, kept)

    @staticmethod
    def _of_values(
        compare: Callable[[bytes, bytes], Agreement | None], new: Signature, kept: Signature
    ) -> Agreement | None:
        if not new.value or not kept.value:
            return Agreement(resemblance=1.0, coverage=1.0) if new == kept else None
        if any(signed.number != xxh3_64_intdigest(signed.value) for signed in (new, kept)):
            return None  # a damaged record agrees with nothing
        with suppress(ValueError):  # a forged record agrees with nothing either
            return compare(new.value, kept.value)
        return None

    @staticmethod
    def _distinct(signature: Signature, keys_of: Callable[[bytes], Numbers]) -> Sequence[int]:
        if not signature.value:
            return [signature.number]
        with suppress(ValueError):
            return [*sort_distinct(keys_of(signature.value)).tolist()]
        return []


def _read(scheme: str, name: str, value: str, default: Any, allowed: str) -> Any:
    """Return *value* converted to the type of *default*, if it is *allowed*."""
    low, _, high = allowed.partition(" to ")
    with suppress(ValueError):
        read = type(default)(value)
        if allowed == PATH or (float(low) <= read <= float(high) if high else str(read) in allowed.split("|")):
            return read
    raise ConfigError(f"{name}={value} is not allowed; the scheme {scheme} takes {name} = {allowed}.")
