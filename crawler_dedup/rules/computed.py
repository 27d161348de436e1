"""Attributes that are computed when a rule first asks for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

_T = TypeVar("_T")


class computed(Generic[_T]):  # noqa: N801  (a decorator)
    """Compute an attribute once, as :class:`functools.cached_property` does.

    Before Python 3.12 that decorator takes a lock, which takes longer than computing most attributes of a pair of pages.
    Two threads that share an object may both compute the attribute.
    """

    def __init__(self, function: Callable[[Any], _T]) -> None:
        self._function = function
        self._name = function.__name__
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> _T: ...

    def __get__(self, instance: object | None, owner: type) -> _T | Self:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._function(instance)
        return value
