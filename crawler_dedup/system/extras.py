"""Packages that only some features need. Each is in an extra of this package."""

from __future__ import annotations

from importlib.util import find_spec

from crawler_dedup.errors import ExtraMissing

EXTRAS = {
    "report": ("jinja2", "markupsafe"),
    "warc": ("fastwarc",),
    "review": ("starlette", "uvicorn", "jinja2", "markupsafe"),
    "batch": ("pyarrow", "fastwarc"),
    "spark": ("pyspark", "pandas"),
    "fast": ("rjieba",),
    "stem": ("snowballstemmer",),
    "redis": ("redis", "hiredis"),
}
"""The packages of each extra, by the names under which they are imported."""


def has_extra(extra: str) -> bool:
    """Return whether all packages of *extra* are installed, without loading them."""
    return not _missing(extra)


def note_on_extra(extra: str) -> str:
    """Return a note, to follow the name of a feature, that it needs *extra*; ``""`` if that is installed."""
    return "" if has_extra(extra) else f' (needs pip install "crawler-dedup[{extra}]")'


def require_extra(extra: str, feature: str) -> None:
    """Raise :class:`ExtraMissing` unless all packages of *extra* are installed, without loading them.

    Args:
        feature: name of the feature that needs them, with which the message begins.
    """
    missing = _missing(extra)
    if missing:
        raise ExtraMissing(
            f"{feature} needs packages that are not installed ({', '.join(missing)}):"
            f' pip install "crawler-dedup[{extra}]"'
        )


def _missing(extra: str) -> list[str]:
    return [name for name in EXTRAS[extra] if find_spec(name) is None]
