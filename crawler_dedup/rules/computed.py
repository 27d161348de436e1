"""Attributes that are computed when a rule first asks for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    computed = property
else:

    class computed:  # noqa: N801  (a decorator)
        """Compute an attribute once, as :class:`functools.cached_property` does.

        Before Python 3.12 that decorator takes a lock, which takes longer than computing most attributes of a pair of pages.
        Two threads that share an object may both compute the attribute.
        """

        def __init__(self, function: Callable[[Any], Any]) -> None:
            self._function = function
            self.__doc__ = function.__doc__

        def __get__(self, instance: object | None, owner: type) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self._function.__name__] = self._function(instance)
            return value
