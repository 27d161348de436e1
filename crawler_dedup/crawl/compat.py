"""Differences between the versions of Scrapy, from 2.13 to 2.19.

A branch names the versions that it is for, so that it can be removed with them. One difference has to be elsewhere:
methods of middlewares take ``spider=None``, because Scrapy 2.13 passes the spider. Later versions do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from scrapy import version_info

if TYPE_CHECKING:
    from collections.abc import Callable

    _Function = TypeVar("_Function", bound=Callable[..., Any])

if TYPE_CHECKING or version_info >= (2, 14):
    from scrapy.utils.asyncio import create_looping_call, is_asyncio_available
    from scrapy.utils.defer import ensure_awaitable

    def as_store(function: _Function) -> _Function:
        """Make a coroutine function usable as ``store`` of a feed storage."""
        return function

else:  # Scrapy 2.13
    from inspect import isawaitable

    from scrapy.utils.defer import deferred_f_from_coro_f as as_store
    from scrapy.utils.defer import deferred_to_future
    from scrapy.utils.reactor import is_asyncio_reactor_installed as is_asyncio_available
    from twisted.internet.defer import Deferred
    from twisted.internet.task import LoopingCall as create_looping_call  # noqa: N813

    async def ensure_awaitable(value: Any) -> Any:
        """Await *value* if it can be awaited, and return its result."""
        if isinstance(value, Deferred):
            value = deferred_to_future(value)
        return await value if isawaitable(value) else value


__all__ = ["as_store", "create_looping_call", "ensure_awaitable", "is_asyncio_available"]
