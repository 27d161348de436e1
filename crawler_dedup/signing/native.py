"""The native core: parts of signing in C, which replace those in Python.

It is a distribution of its own, ``crawler-dedup-native``. If it is not installed, has another behaviour, or was built for
another lxml, and for each page on which it fails, everything is done in Python, with the same result.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, wraps
from importlib import import_module
from types import ModuleType
from typing import Any, ParamSpec, TypeVar, cast

from crawler_dedup.signing.behaviour import BEHAVIOUR
from crawler_dedup.signing.characters import describe_page
from crawler_dedup.system.logs import logger_without_credentials

_NAME = "crawler_dedup_native"
_VARIABLE = "CRAWLER_DEDUP_NATIVE"  # 0: the core is off
_ADVICE = (
    "To use the core, install that of this version again (pip install ./native in its checkout); to do without it, uninstall"
    " crawler-dedup-native."
)
_INTERFACE = 1
"""Version of what the core takes and returns. It rises, here and in the core, whenever an existing function of the core
takes or returns something else: an older core could compute something else from it instead of failing."""
_LOGGER = logger_without_credentials(__name__)
_P = ParamSpec("_P")
_R = TypeVar("_R")


class _State:
    """Whether the core is used, and how many times it has failed."""

    is_on = True
    failures = 0


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
    package = import_module(_NAME)
    if package.BEHAVIOUR != BEHAVIOUR:
        raise _Refused(f"it has behaviour {package.BEHAVIOUR}, and this version of crawler-dedup {BEHAVIOUR}")
    interface = getattr(package, "INTERFACE", 0)
    if interface != _INTERFACE:
        raise _Refused(f"it has interface {interface}, and this version of crawler-dedup {_INTERFACE}")
    try:
        core = import_module(f"{_NAME}.core")
    except ModuleNotFoundError as error:
        raise _Refused(f"its installation is not complete ({error})") from error
    core.read_characters_with(describe_page)
    return core


def describe_core() -> str:
    """Return in words what signs pages: ``Python``, or the version of the core."""
    core = load_core() if _State.is_on else None
    return "Python" if core is None else f"native core {core.VERSION}"


@contextmanager
def switched_off() -> Iterator[None]:
    """Do everything in Python within the context, in all threads."""
    before, _State.is_on = _State.is_on, False
    try:
        yield
    finally:
        _State.is_on = before


def make(name: str, **terms: Any) -> object | None:
    """Make the object that the core calls *name*; ``None`` if there is no core, or it fails."""
    core = load_core() if _State.is_on else None
    try:
        return None if core is None else getattr(core, name)(**terms)
    except Exception as error:
        _note_failure(name, error)
        return None


_REPLACEMENTS: list[Callable[[], object]] = []
"""Functions that make the functions of the core."""


def prepare() -> None:
    """Make the functions of the core now, not when each is first called. An error is ignored, and raised again then."""
    for make in _REPLACEMENTS:
        with suppress(Exception):
            make()


def replaceable(
    terms: Callable[[], dict[str, Any]] = dict, *, raises: type[Exception] | tuple[type[Exception], ...] = ()
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Replace a function by that of the core with the same name, if there is a core.

    Args:
        terms: returns the arguments with which the core makes its function, once; each call has its own arguments.
        raises: the exceptions that the function raises itself; after any other exception of the core Python takes over.
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @cache
        def replacement() -> Callable[_P, _R] | None:
            core = load_core()
            if core is None:
                return None
            own_terms = terms()
            try:
                return cast("Callable[_P, _R]", getattr(core, function.__name__)(**own_terms))
            except (AttributeError, TypeError) as error:  # the core has no such function, or it takes other terms
                _note_misfit(function.__name__, error)
                return None

        _REPLACEMENTS.append(replacement)

        @wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            if not _State.is_on:
                return function(*args, **kwargs)
            try:
                native = replacement()
                if native is not None:
                    return native(*args, **kwargs)
            except raises:
                raise
            except Exception as error:  # the core has failed, or the arguments are wrong: then the function raises, too
                result = function(*args, **kwargs)
                _note_failure(function.__name__, error)
                return result
            return function(*args, **kwargs)

        return call

    return decorate


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
