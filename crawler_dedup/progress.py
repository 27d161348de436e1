"""One live line on the terminal that shows the progress of a crawl; the log scrolls by above it.

``EXTENSIONS = {"crawler_dedup.progress.ProgressLine": 0}`` switches it on in any project.
"""

from __future__ import annotations

import atexit
import logging
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO, cast

from rich.console import Console
from rich.spinner import Spinner
from rich.text import Text
from scrapy import signals
from scrapy.exceptions import NotConfigured

from crawler_dedup.counting.pace import Pace
from crawler_dedup.crawl.compat import create_looping_call, scheduler_of
from crawler_dedup.middleware import DedupMiddleware
from crawler_dedup.system.logs import logger_without_credentials

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

logger = logger_without_credentials(__name__)

_INTERVAL = 0.25
_PACE_WINDOW = 60.0
_ERASE = "\r\x1b[2K"


class _Bottom:
    """The live line at the bottom of a terminal.

    Not :class:`rich.live.Live`, which takes half a millisecond for each line of the log.
    """

    def __init__(self, terminal: TextIO) -> None:
        self.terminal = terminal
        self.lock = threading.RLock()
        self.line = ""

    def draw(self, line: str) -> None:
        """Show *line*, which is not longer than the terminal is wide."""
        with self.lock:
            self.line = line
            self.terminal.write(_ERASE + line)
            self.terminal.flush()


class _Above:
    """A stream to the terminal whose whole lines appear above the live line; an unfinished line waits for its end."""

    def __init__(self, stream: TextIO, bottom: _Bottom) -> None:
        self.stream = stream
        self._bottom = bottom
        self._unfinished = ""

    def write(self, text: str) -> int:
        with self._bottom.lock:
            lines, end, self._unfinished = (self._unfinished + text).rpartition("\n")
            if end:
                self.stream.write(f"{_ERASE}{lines}\n{self._bottom.line}")
                self.stream.flush()
        return len(text)

    def give_back(self) -> TextIO:
        """Write the unfinished line, and return the stream itself."""
        with self._bottom.lock, suppress(OSError, ValueError):  # a terminal that was closed
            self.stream.write(self._unfinished)
        return self.stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class ProgressLine:
    """Shows the line from the opening of the spider to its end. Its errors do not affect the crawl."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._streams: list[_Above] = []
        self._drawing = create_looping_call(self._draw)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Connect the signals of the spider. Raises :class:`NotConfigured` if there is no terminal, or items go to it."""
        console = Console(stderr=True)
        if not _is_terminal(sys.stderr) or console.is_dumb_terminal or console.legacy_windows:
            raise NotConfigured
        if _is_terminal(sys.stdout) and any(
            str(uri).startswith("stdout:") for uri in crawler.settings.getdict("FEEDS")
        ):
            raise NotConfigured
        extension = cls(crawler)
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        return extension

    def spider_opened(self) -> None:
        """Take the terminal, unless another crawl shows its line there, or the filter is off."""
        if isinstance(sys.stderr, _Above) or self._crawler.get_downloader_middleware(DedupMiddleware) is None:
            return
        try:
            self._began = time.monotonic()
            self._pace = Pace(_PACE_WINDOW)
            self._spinner = Spinner("dots")
            self._bottom = _Bottom(sys.stderr)
            self._console = Console(file=sys.stderr)
            self._take_streams()
            atexit.register(self._leave)  # no spider is closed after a second Ctrl-C
            self._drawing.start(_INTERVAL)
        except Exception as error:
            self._give_up(error)

    def spider_closed(self) -> None:
        """Leave the last state of the line, and give the terminal back."""
        if self._drawing.running:
            self._drawing.stop()
            self._leave()

    def _leave(self) -> None:
        atexit.unregister(self._leave)
        try:
            self._bottom.draw(self._line() + "\n")
        except Exception as error:
            logger.debug("The progress line has no last state: %s", error)
        self._give_streams_back()

    def _draw(self) -> None:
        try:
            self._bottom.draw(self._line())
        except Exception as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        if self._drawing.running:
            self._drawing.stop()
        atexit.unregister(self._leave)
        self._give_streams_back()
        logger.debug("There is no progress line any more: %s", error)

    def _take_streams(self) -> None:
        """Redirect everything that is written to the terminal (log, errors, what a spider prints) above the line."""
        error, out = sys.stderr, sys.stdout
        sys.stderr = self._above(error)
        if _is_terminal(out):
            sys.stdout = self._above(out)
        for handler in _stream_handlers():
            if handler.stream is error:
                handler.setStream(sys.stderr)
            elif handler.stream is out:
                handler.setStream(sys.stdout)

    def _above(self, stream: TextIO) -> TextIO:
        self._streams.append(_Above(stream, self._bottom))
        return cast("TextIO", self._streams[-1])

    def _give_streams_back(self) -> None:
        for above in self._streams:
            stream = above.give_back()
            for handler in _stream_handlers():
                if handler.stream is above:
                    handler.setStream(stream)
            for name in ("stderr", "stdout"):
                if getattr(sys, name) is above:
                    setattr(sys, name, stream)
        self._streams.clear()

    def _line(self) -> str:
        """Return the line, cut to the width of the terminal, with the terminal's codes for its colours."""
        line = Text.assemble(self._spinner.render(time.monotonic()), " ", self._figures())  # type: ignore[arg-type]
        # The last column stays free: a terminal would go on to the next row.
        line.truncate(max(1, self._console.width - 1), overflow="ellipsis")
        with self._console.capture() as captured:
            self._console.print(line, end="", no_wrap=True, crop=True)
        return captured.get()

    def _figures(self) -> str:
        def count(name: str) -> int:
            return int(self._crawler.stats.get_value(f"dedup/{name}", 0))

        checked, dropped, marked = count("checked"), count("dropped"), count("marked")
        parts = [f"{checked:,} pages", f"{count('kept'):,} kept"]
        marks = self._crawler.settings.get("DEDUP_ACTION") == "mark"
        if dropped or not marks:
            parts.append(f"{dropped:,} dropped ({dropped / max(1, checked):.1%})")
        if marked or marks:
            parts.append(f"{marked:,} marked ({marked / max(1, checked):.1%})")
        parts.append(f"{self._pace.update(checked):,.0f} pages/min")
        filtering = self._crawler.get_downloader_middleware(DedupMiddleware)
        if filtering is not None and filtering.waiting:
            parts.append(f"{filtering.waiting} waiting")
        scheduler = scheduler_of(self._crawler.engine)
        if scheduler is not None and hasattr(scheduler, "__len__"):
            parts.append(f"{len(scheduler):,} queued")
        minutes, seconds = divmod(int(time.monotonic() - self._began), 60)
        return "  ".join([*parts, f"{minutes}:{seconds:02}"])


def _is_terminal(stream: Any) -> bool:
    """Return whether *stream* is a terminal. With ``LOG_STDOUT`` it may be an object that has no ``isatty``."""
    return hasattr(stream, "isatty") and bool(stream.isatty())


def _stream_handlers() -> list[logging.StreamHandler[Any]]:
    """Return the handlers of the root logger that write to a stream and not to a file."""
    handlers = (handler for handler in logging.root.handlers if isinstance(handler, logging.StreamHandler))
    return [handler for handler in handlers if not isinstance(handler, logging.FileHandler)]
