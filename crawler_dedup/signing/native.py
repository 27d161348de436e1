"""The native core: parts of signing in C, which replace those in Python.

It is a distribution of its own, ``crawler-dedup-native``. If it is not installed or was built for another lxml, and for each
page on which it fails, everything is done in Python, with the same result. It may also lag behind: a function whose revision
differs from that of the core runs in Python.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, wraps
from importlib import import_module
from types import ModuleType
from typing import Any, ParamSpec, TypeVar, cast

from crawler_dedup.signing.characters import describe_page
from crawler_dedup.system.logs import logger_without_credentials

_NAME = "crawler_dedup_native"
_VARIABLE = "CRAWLER_DEDUP_NATIVE"  # 0: the core is off
_ADVICE = (
    "To use the core, install that of this version again (pip install ./native in its checkout); to do without it, uninstall"
    " crawler-dedup-native."
)
_LOGGER = logger_without_credentials(__name__)
_P = ParamSpec("_P")
_R = TypeVar("_R")


class _State:
    """Whether the core is used, how many times it has failed, and whether it lags behind in a function."""

    is_on = True
    failures = 0
    lags = False


class _Refused(Exception):
    """The core does not fit."""


@cache
def load_core() -> ModuleType | None:
    """Load the core; ``None`` if it is not installed, switched off, or does not fit, which is logged."""
    if os.environ.get(_VARIABLE) == "0":
        return None
    try:
        return _import_core()
    except (_Refused, ImportError, AttributeError, ValueError) as reason:  # the last: for a class of another size
        is_missing = isinstance(reason, ModuleNotFoundError) and reason.name == _NAME
        if not is_missing:
            _LOGGER.warning(
                "The native core is not used: %s. Pages are signed in Python, which gives the same signatures and takes"
                " longer. %s",
                reason,
                _ADVICE,
            )
    return None


def _import_core() -> ModuleType:
    import_module(_NAME)
    try:
        core = import_module(f"{_NAME}.core")
    except ModuleNotFoundError as error:
        raise _Refused(f"its installation is not complete ({error})") from error
    if not hasattr(core, "REVISIONS"):
        raise _Refused("it does not say which revisions of functions it has")
    core.read_characters_with(describe_page)
    return core


def describe_core() -> str:
    """Describe what signs pages: ``Python``, or the version of the core and the functions in which it lags behind."""
    core = load_core() if _State.is_on else None
    if core is None:
        return "Python"
    lagging = sorted(name for name in REPLACEABLE if not _is_current(core, name))
    return f"native core {core.VERSION}" + (f" (Python: {', '.join(lagging)})" if lagging else "")


@contextmanager
def switched_off() -> Iterator[None]:
    """Do everything in Python within the context, in all threads."""
    before, _State.is_on = _State.is_on, False
    try:
        yield
    finally:
        _State.is_on = before


def make(name: str, revision: int, **terms: Any) -> object | None:
    """Make the object that the core calls *name*; ``None`` if there is no core, it has another revision, or it fails."""
    core = load_core() if _State.is_on else None
    try:
        return None if core is None or core.REVISIONS.get(name) != revision else getattr(core, name)(**terms)
    except Exception as error:
        _note_failure(name, error)
        return None


@dataclass(frozen=True)
class Replaceable:
    """A function that the core can replace.

    Attributes:
        function: the function in Python.
        terms: returns the arguments with which the core makes its function.
        revision: rises whenever the source of *function* changes, and in the core once that has the change too.
        reads: name of the function whose result this function takes in the form that the core gives it.
        load: makes the function of the core; ``None`` if Python does it.
    """

    function: Callable[..., object]
    terms: Callable[[], dict[str, Any]]
    revision: int
    reads: str | None
    load: Callable[[], Callable[..., object] | None]


REPLACEABLE: dict[str, Replaceable] = {}
"""All functions that the core can replace, by their names."""


def prepare() -> None:
    """Make the functions of the core now, not when each is first called. An error is ignored, and raised again then."""
    for replaced in REPLACEABLE.values():
        with suppress(Exception):
            replaced.load()


def _is_current(core: ModuleType, name: str) -> bool:
    """Return whether the core has the function *name*, and the function that it reads from, in the revision of Python."""
    replaced = REPLACEABLE[name]
    return core.REVISIONS.get(name) == replaced.revision and (not replaced.reads or _is_current(core, replaced.reads))


def replaceable(
    terms: Callable[[], dict[str, Any]] = dict,
    *,
    revision: int,
    reads: str | None = None,
    raises: type[Exception] | tuple[type[Exception], ...] = (),
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Replace a function by that of the core with the same name, if there is a core with the same revision of it.

    Args:
        terms: returns the arguments with which the core makes its function, once; each call has its own arguments.
        revision: number of the version of the function (:class:`Replaceable`).
        reads: name of the function whose result this function takes in the form that the core gives it.
        raises: the exceptions that the function raises itself; after any other exception of the core Python takes over.
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        name = function.__name__

        @cache
        def load() -> Callable[_P, _R] | None:
            core = load_core()
            if core is None:
                return None
            if not _is_current(core, name):
                _note_lag(name)
                return None
            own_terms = terms()
            try:
                return cast("Callable[_P, _R]", getattr(core, name)(**own_terms))
            except (AttributeError, TypeError) as error:  # the core has no such function, or it takes other terms
                _note_misfit(name, error)
                return None

        REPLACEABLE[name] = Replaceable(function, terms, revision, reads, load)

        @wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            if not _State.is_on:
                return function(*args, **kwargs)
            try:
                native = load()
                if native is not None:
                    return native(*args, **kwargs)
            except raises:
                raise
            except Exception as error:  # the core has failed, or the arguments are wrong: then the function raises, too
                result = function(*args, **kwargs)
                _note_failure(name, error)
                return result
            return function(*args, **kwargs)

        return call

    return decorate


def _note_lag(name: str) -> None:
    """Log the first function that the core has in another revision."""
    if not _State.lags:
        _State.lags = True
        _LOGGER.warning(
            "The native core has another revision of %s, and perhaps of other functions. Python does these instead, which"
            " gives the same signatures and takes longer. The core of another version may have them.",
            name,
        )


def _note_misfit(name: str, error: Exception) -> None:
    """Log the first function of the core that does not fit."""
    _State.failures += 1
    if _State.failures == 1:
        _LOGGER.warning(
            "The native core was made for another version of crawler-dedup: %s in it does not fit (%s), and Python does it"
            " instead. %s",
            name,
            error,
            _ADVICE,
        )


def _note_failure(name: str, error: Exception) -> None:
    """Log the first failure. A tree with something that only Python can read (``Unsupported``) is not a failure."""
    if type(error).__name__ == "Unsupported":
        return
    _State.failures += 1
    if _State.failures == 1:
        _LOGGER.warning("The native core has failed in %s; Python does it instead: %r", name, error, exc_info=error)


def count_failures() -> int:
    """Return how many times the core has failed in this process."""
    return _State.failures
