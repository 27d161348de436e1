"""Requests whose responses are dropped: what is recorded of them, so that they can be made again."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from inspect import getmembers_static, ismethod, isroutine
from io import StringIO
from typing import Any

import msgspec
from scrapy.http import Request

from crawler_dedup.decision import DroppedRequest
from crawler_dedup.urls import text_without_credentials

_META_RECORDED = ("rule", "link_text", "depth", "dedup_scope", "dedup_key", "dedup_restore_meta")
_MAX_CHARS = 10_000
"""Maximum length of ``cb_kwargs`` as JSON, and of ``meta``. The rest is not read: the event loop would wait."""
_SECRET = re.compile(
    r'"[^"]*(?:passw|secret|token|credential|authorization|cookie(?!jar)|api_?key)[^"]*":', re.IGNORECASE
)
_ESCAPED_SPACE = re.compile(r"\\[nrtf]")
_encode = json.JSONEncoder(ensure_ascii=False).iterencode  # piece by piece


def describe_request(request: Request, spider: object) -> DroppedRequest:
    """Return what is recorded of *request*, whose response was dropped. Raises no error: no page may be lost for it."""
    named = request.meta.get("dedup_restore_meta")
    names = (*_META_RECORDED, *(named if isinstance(named, (list, tuple)) else ()))
    meta = {name: request.meta[name] for name in names if isinstance(name, str) and name in request.meta}
    cb_kwargs, recorded = _copy_json(request.cb_kwargs), _copy_json(meta)
    left_out = {*request.cb_kwargs, *meta} - {*cb_kwargs, *recorded}
    return DroppedRequest(
        request.method,
        _method_name(request.callback, spider),
        _method_name(request.errback, spider),
        cb_kwargs,
        recorded,
        tuple(sorted(text_without_credentials(str(name)).encode("utf-8", "replace").decode() for name in left_out)),
    )


def _copy_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the values that JSON reproduces, that are not long, and that seem to have no credentials."""
    copies: dict[str, Any] = {}
    left = _MAX_CHARS
    for name, value in values.items():
        with suppress(Exception):  # of a class of the project; no page may be lost for it
            text = _short_json({name: value}, left)
            if _SECRET.search(text) or text_without_credentials(spaced := _ESCAPED_SPACE.sub(" ", text)) != spaced:
                continue
            copy = msgspec.json.decode(text.encode())
            msgspec.msgpack.encode(copy)  # as the index does; it takes no integers of more than 64 bits
            if copy == {name: value}:
                copies |= copy
                left -= len(text)
    return copies


def _short_json(value: Any, limit: int) -> str:
    """Return *value* as JSON. Raises :class:`ValueError` if that has more than *limit* characters."""
    text = StringIO()
    for piece in _encode(value):
        text.write(piece)
        if text.tell() > limit:
            raise ValueError
    return text.getvalue()


def _method_name(function: Any, spider: object) -> str | None:
    """Return the name by which *spider* has the method *function*; ``""`` for another function, ``None`` for ``None``."""
    if function is None:
        return None
    is_its_method = ismethod(function) and function.__self__ is spider
    kind: type = type(spider)
    return _method_names(kind).get(id(function.__func__), "") if is_its_method else ""


@cache
def _method_names(kind: type) -> dict[int, str]:
    """Return the names by the identities of the methods: a decorator may make methods that have no hash."""
    return {id(method): name for name, method in getmembers_static(kind, isroutine)}
