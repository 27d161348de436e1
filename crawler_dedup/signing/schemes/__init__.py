"""Signature schemes, one file each."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from importlib.metadata import entry_points

from crawler_dedup.config import Config
from crawler_dedup.errors import ConfigError
from crawler_dedup.signing.schemes.scheme import Agreement, Scheme, ValueScheme
from crawler_dedup.signing.schemes.simhash import SimHash

__all__ = ["GROUP", "NAMES", "Agreement", "Scheme", "SimHash", "ValueScheme", "add_unfiled_options", "scheme_of"]

GROUP = "crawler_dedup.schemes"
"""Entry point group in which other packages declare their schemes."""

_CLASSES = "SimHash Exact Shingling MinHash Checksums IMatch DDW Sentences Pinyin Winnowing".split()
_OWN = {name.lower(): name for name in _CLASSES}
NAMES = tuple(_OWN)


def scheme_of(spec: str, config: Config | None = None) -> Scheme:
    """Make the scheme that *spec* names: ``NAME option=value …``, as in ``DEDUP_SCHEME`` and in the header of an index.

    Raises:
        ConfigError: there is no such scheme, or it has no such option.
    """
    name, options = _read_spec(spec)
    try:
        return _class_of(name).build(options, config or Config())
    except TypeError as error:  # a method is missing
        raise ConfigError(f"The scheme {name!r} cannot be used: {error}.") from error


def add_unfiled_options(filed: str, chosen: str) -> str:
    """Return the scheme *filed* in a header; if *chosen* is the same scheme, with its options that headers leave out.

    Raises as :func:`scheme_of`.
    """
    name, options = _read_spec(chosen)
    if name != _read_spec(filed)[0]:
        return filed
    unfiled = [item.name for item in fields(_class_of(name)) if item.metadata.get("filed") is False]
    return " ".join([filed, *(f"{option}={options[option]}" for option in unfiled if option in options)])


def _read_spec(spec: str) -> tuple[str, dict[str, str]]:
    """Return the name of the scheme that *spec* names, and its options."""
    name, *words = spec.split() or [""]
    options: dict[str, str] = {}
    for word in words:
        option_name, _, value = word.partition("=")
        if not value:
            raise ConfigError(f"DEDUP_SCHEME = {spec!r}: {word!r} is not an option; write option=value.")
        if option_name in options:
            raise ConfigError(f"DEDUP_SCHEME = {spec!r}: {option_name} is given twice.")
        options[option_name] = value
    return name, options


def _class_of(name: str) -> type[Scheme]:
    is_own = name in _OWN
    scheme = getattr(import_module(f"{__name__}.{name}"), _OWN[name]) if is_own else _of_another_package(name)
    if not (isinstance(scheme, type) and issubclass(scheme, Scheme) and getattr(scheme, "name", None) == name):
        raise ConfigError(
            f"The scheme {name!r} must be a subclass of crawler_dedup.Scheme with name = {name!r}; it is {scheme!r}."
        )
    return scheme


def _of_another_package(name: str) -> object:
    other_schemes = {entry_point.name: entry_point for entry_point in entry_points(group=GROUP)}
    if name not in other_schemes:
        raise ConfigError(f"There is no scheme {name!r}; there are {', '.join([*_OWN, *other_schemes])}.")
    try:
        return other_schemes[name].load()
    except Exception as error:  # a module may raise anything
        raise ConfigError(f"The scheme {name!r} cannot be loaded: {error}.") from error
