"""Near-duplicates on Spark: of DataFrames (:mod:`~crawler_dedup.batch.spark.frames`), and of files.

The public names are imported on first use, because executors load this package, too, and need no session.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crawler_dedup.batch.spark.frames import duplicates, signatures

__all__ = ["duplicates", "signatures"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.frames"), name)
