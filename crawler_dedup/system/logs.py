"""Logging without the user names and passwords of addresses, and with a limit on lines of one kind."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from crawler_dedup.urls import text_without_credentials

_FORMATTER = logging.Formatter()
_THROTTLE_SECONDS = 60.0
_MAX_KINDS = 1000


class _WithoutCredentials(logging.Filter):
    """Removes credentials from messages, also those of exceptions, and from their tracebacks."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Remove credentials from *record*. Never raises: a log message must not cost a page."""
        try:
            message = record.getMessage()
            shown = text_without_credentials(message)
        except Exception as error:  # any error in the arguments: a handler would print them
            message, shown = "", f"{record.msg!r} (its arguments raise {type(error).__name__})"
        if shown != message:
            record.msg, record.args = shown, ()
        if record.exc_info:
            trace = _FORMATTER.formatException(record.exc_info)
            record.exc_text = text_without_credentials(trace)
            if record.exc_text != trace:
                record.exc_info = None  # for handlers that format it themselves
        return True


def logger_without_credentials(name: str) -> logging.Logger:
    """Return the logger *name*, whose records lose the user names and passwords of the addresses in them."""
    logger = logging.getLogger(name)
    if not any(isinstance(log_filter, _WithoutCredentials) for log_filter in logger.filters):
        logger.addFilter(_WithoutCredentials())
    return logger


@dataclass
class _LastLine:
    at: float
    held_back: int = 0


class LogThrottle:
    """Lets one log line of a kind pass in a minute, so that an event that concerns every page does not fill the log."""

    def __init__(self) -> None:
        self._last: dict[str, _LastLine] = {}

    def log(self, log: Callable[..., object], kind: str, level: int, message: str, *args: object, **more: Any) -> None:
        """Call *log* with a line of *kind*: at *level* if none was logged for a minute, otherwise at DEBUG."""
        held_back = self._due(kind)
        if held_back is None:
            log(logging.DEBUG, message, *args, **{**more, "exc_info": None})
        elif held_back:
            log(level, f"{message} (and %d more since the last such line)", *args, held_back, **more)
        else:
            log(level, message, *args, **more)

    def _due(self, kind: str) -> int | None:
        """Return how many lines of *kind* were held back since the last; ``None`` if this line is held back too."""
        now = time.monotonic()
        last = self._last.get(kind)
        if last is not None and now < last.at + _THROTTLE_SECONDS:
            last.held_back += 1
            return None
        if last is None and len(self._last) >= _MAX_KINDS:
            return None
        self._last[kind] = _LastLine(now)
        return 0 if last is None else last.held_back
