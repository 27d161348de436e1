"""The loggers of the package, which remove the user names and passwords of addresses from what they write."""

from __future__ import annotations

import logging

from crawler_dedup.urls import text_without_credentials

_FORMATTER = logging.Formatter()


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
