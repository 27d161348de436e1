"""Resources that take long to load (dictionaries, tables): loaded once, when the first page needs them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from crawler_dedup.errors import DedupError

_T = TypeVar("_T")


class NotLoaded(DedupError):
    """A page needs something that is not loaded, and the caller must not wait until it is.

    Attributes:
        resource: what has to be loaded before the page is signed again.
    """

    def __init__(self, resource: Resource[Any]) -> None:
        self.resource = resource
        super().__init__(f"{resource.name} is not loaded.")


class Resource(Generic[_T]):
    """Something that takes long to load. Safe to use from several threads.

    Args:
        name: its name in messages.
        load: loads it. If it raises an error, the next use tries again.
    """

    def __init__(self, name: str, load: Callable[[], _T]) -> None:
        self.name = name
        self._load = load
        self._loaded: _T | None = None
        self.is_loaded = False
        self._lock = threading.Lock()
        _resources.add(self)

    def load(self) -> _T:
        """Load the resource if it is not loaded, or wait for a thread that is loading it; raise the errors of loading."""
        with self._lock:
            if not self.is_loaded:
                self._loaded = self._load()
                self.is_loaded = True
        return self._loaded  # type: ignore[return-value]

    def get(self, *, load: bool) -> _T:
        """Return the resource; if it is not loaded, *load* it or raise :class:`NotLoaded`."""
        if not self.is_loaded:
            if not load:
                raise NotLoaded(self)
            return self.load()
        return self._loaded  # type: ignore[return-value]

    def reset_lock(self) -> None:
        """Replace the lock, which another thread may hold. Called in a forked child, in which no other thread runs."""
        self._lock = threading.Lock()


_resources: WeakSet[Resource[Any]] = WeakSet()


def _after_fork() -> None:
    for resource in _resources:
        resource.reset_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
