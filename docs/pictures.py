"""Make the pictures in docs/ from real runs: ``python docs/pictures.py [--check] [demo|first-minutes|report|review]``.

A picture of the terminal shows commands and what they print on standard output. The commands run in a temporary directory,
under a pseudo-terminal, and rich draws their output as SVG. With ``--check`` nothing is written: the commands run again, and
the exit status is 1 if a committed picture of the terminal shows another text.

The pictures of a report and of the review page are made by Chromium, which has to be installed; the latter also needs
Playwright.
"""

from __future__ import annotations

import argparse
import difflib
import fcntl
import html
import os
import pty
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

DOCS = Path(__file__).parent
PROGRAMS = Path(sys.executable).parent

_COLUMNS = 100
_QUICK = "-s DOWNLOAD_DELAY=0 -s AUTOTHROTTLE_ENABLED=0"  # nobody is disturbed on this machine
_REPORT = "report"
_REPORT_SIZE = "1000,1160"
_REVIEW = "review"
_THEME = TerminalTheme(
    (13, 17, 23),
    (201, 209, 217),
    [
        *[(72, 79, 88), (255, 123, 114), (63, 185, 80), (210, 153, 34)],
        *[(88, 166, 255), (188, 140, 255), (57, 197, 207), (177, 186, 196)],
    ],
    [
        *[(110, 118, 129), (255, 161, 152), (86, 211, 100), (227, 179, 65)],
        *[(121, 192, 255), (210, 168, 255), (86, 212, 221), (255, 255, 255)],
    ],
)

# As rich's own, but without a font of the web, which pages that embed the picture do not load. Letters are as high as a
# line, so that the lines of tables meet.
_ASPECT = 0.66
_FORMAT = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
    <style>
    .{unique_id}-matrix {{
        font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace;
        font-size: 22px;
        line-height: {line_height}px;
    }}
    .{unique_id}-title {{
        font-size: 18px;
        font-weight: bold;
        font-family: sans-serif;
    }}
    {styles}
    </style>
    <defs>
    <clipPath id="{unique_id}-clip-terminal">
      <rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
    </clipPath>
    {lines}
    </defs>
    {chrome}
    <g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
    {backgrounds}
    <g class="{unique_id}-matrix">
    {matrix}
    </g>
    </g>
</svg>
"""

# What differs from run to run: ports, identifiers of runs, times, speeds.
_VARIABLE = (
    (r"(crawler-dedup-demo)-\w+", r"\1"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d[:-]\d\d[:-]\d\d\b", "TIME"),
    (r"\brun [0-9a-f]{8}\b", "run ID"),
    (r"\b\d[\d.,]* (s|seconds|pages/min|kB|MB|bytes)\b", r"N \1"),
)


@dataclass(frozen=True)
class Step:
    """A command in a picture.

    Attributes:
        command: the command as a reader types it; it is split into words as by a shell.
        runs: whether it runs; else it is only shown.
        last_lines: how many lines of the end of its output are shown; 0: all.
    """

    command: str
    runs: bool = True
    last_lines: int = 0


def demo() -> Iterator[Step]:
    """Yield the command of the picture in the README."""
    yield Step("crawler-dedup demo")


def first_minutes() -> Iterator[Step]:
    """Yield what a new user may try, on a small site on this machine."""
    from crawler_dedup.spiders.demo import DemoSites  # noqa: PLC0415  (the other pictures need no site)

    sites = DemoSites()
    yield Step("pip install '.[report]'", runs=False)
    yield Step("crawler-dedup demo", last_lines=2)
    yield Step(f"crawler-dedup crawl {sites.newspaper}/ --dry-run -o pages.jsonl {_QUICK}")
    yield Step("crawler-dedup drops")
    yield Step(f"crawler-dedup why {sites.newspaper}/print/lighthouse")
    yield Step("crawler-dedup report")
    sites.close()


PICTURES: dict[str, Callable[[], Iterator[Step]]] = {"demo": demo, "first-minutes": first_minutes}


def record(steps: Iterator[Step]) -> Console:
    """Run *steps* one after the other in a temporary directory, and return a console that has recorded the terminal."""
    with tempfile.TemporaryDirectory(prefix="crawler-dedup-pictures-") as folder, open(os.devnull, "w") as nowhere:
        console = Console(record=True, width=_COLUMNS, file=nowhere, force_terminal=True, color_system="truecolor")
        for number, step in enumerate(steps):
            if number:
                console.print()
            console.print(Text.assemble(("$ ", "bold green"), (step.command, "bold")))
            if step.runs:
                lines = run(shlex.split(step.command), Path(folder)).rstrip().split("\n")
                if 0 < step.last_lines < len(lines):
                    lines = ["…", *lines[-step.last_lines :]]
                console.print(Text.from_ansi("\n".join(lines)))
    return console


def run(arguments: Sequence[str], folder: Path) -> str:
    """Run a program of this environment under a pseudo-terminal, and return its standard output.

    Args:
        arguments: the command.
        folder: its working directory, which is also its directory for temporary files.

    Raises:
        subprocess.CalledProcessError: its exit status is not 0.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, _COLUMNS, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    environment = {
        **kept,
        "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}",
        "TERM": "xterm-256color",
        "TMPDIR": str(folder),
    }
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(  # noqa: S603  (the commands of the pictures)
            arguments, stdin=theirs, stdout=theirs, stderr=errors, cwd=folder, env=environment
        )
        os.close(theirs)
        output = b"".join(read(ours))
        os.close(ours)
        if process.wait():
            errors.seek(0)
            raise subprocess.CalledProcessError(process.returncode, arguments, output, errors.read())
    # The name of the directory says nothing to a reader.
    return output.decode().replace("\r\n", "\n").replace(str(folder), "/tmp")  # noqa: S108  (nothing is written there)


def read(descriptor: int) -> Iterator[bytes]:
    """Yield what is written to a pseudo-terminal, until its last writer has closed it."""
    while True:
        try:
            block = os.read(descriptor, 1 << 16)
        except OSError:  # Linux says so that nobody writes any more
            return
        if not block:
            return
        yield block


def draw(name: str, console: Console) -> str:
    """Return what *console* has recorded as SVG."""
    return console.export_svg(
        title="crawler-dedup", theme=_THEME, code_format=_FORMAT, font_aspect_ratio=_ASPECT, unique_id=name, clear=False
    )


def text_of(svg: str) -> list[str]:
    """Return the lines of the terminal in a picture, without what differs from run to run."""
    lines: dict[float, str] = {}
    for top, text in re.findall(r'<text class="[^"]*-r\d+" x="[^"]*" y="([\d.]+)"[^>]*>([^<]*)</text>', svg):
        lines[float(top)] = lines.get(float(top), "") + html.unescape(text)
    return [_without_variable_parts(line) for _, line in sorted(lines.items())]


def _without_variable_parts(line: str) -> str:
    for pattern, replacement in _VARIABLE:
        line = re.sub(pattern, replacement, line)
    return " ".join(line.split())


def find_browser() -> str:
    """Return the path of Chromium, or exit."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit(
            "The pictures of the report and of the review page need Chromium: install it, or name the other pictures."
        )
    return browser


def photograph_report(file: Path) -> None:
    """Write the upper part of the report of a dry run to *file*, as a browser shows it."""
    from crawler_dedup.spiders.demo import DemoSites  # noqa: PLC0415  (the other pictures need no report)

    browser = find_browser()
    sites = DemoSites()
    with tempfile.TemporaryDirectory(prefix="crawler-dedup-pictures-") as folder:
        crawl = f"crawler-dedup crawl {sites.newspaper}/ {sites.mirror}/ --dry-run -o pages.jsonl {_QUICK}"
        for command in (crawl, "crawler-dedup report"):
            run(shlex.split(command), Path(folder))
        report = Path(folder, "report.html")
        # The name of the directory says nothing to a reader.
        text = report.read_text(encoding="utf-8").replace(folder, "/tmp")  # noqa: S108  (nothing is written there)
        report.write_text(text, encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]
        options += [
            "--disable-background-networking",
            "--disable-component-update",
            f"--user-data-dir={folder}/browser",
        ]
        target = [f"--window-size={_REPORT_SIZE}", f"--screenshot={file}", report.as_uri()]
        subprocess.run([browser, *options, *target], check=True, capture_output=True)  # noqa: S603  (a browser)
    sites.close()


def photograph_review(file: Path) -> None:
    """Write the review page of a dropped page to *file*, as a browser shows it."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  (the other pictures need none)

    from crawler_dedup.spiders.demo import DemoSites  # noqa: PLC0415

    sites, browser = DemoSites(), find_browser()
    with tempfile.TemporaryDirectory(prefix="crawler-dedup-pictures-") as folder:
        crawl = (
            f"crawler-dedup crawl {sites.newspaper}/ {sites.mirror}/ -o pages.jsonl -s DEDUP_STORE_TEXT=True {_QUICK}"
        )
        run(shlex.split(crawl), Path(folder))
        command = [str(PROGRAMS / "crawler-dedup"), "review"]
        with (
            subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as review,  # noqa: S603  (ours)
            sync_playwright() as driver,
        ):
            assert review.stdout is not None
            opened = driver.chromium.launch(executable_path=browser, args=["--no-sandbox", "--disable-gpu"])
            page = opened.new_page(viewport={"width": 1000, "height": 800}, color_scheme="light")
            page.goto(review.stdout.readline().split()[0])
            with page.expect_navigation():
                page.keyboard.press("n")  # the most doubtful drop
            page.screenshot(path=file)
            opened.close()
            review.terminate()
    sites.close()


def main() -> None:
    """Parse the command line, and make or check pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    photographs = {_REPORT: photograph_report, _REVIEW: photograph_review}
    names = [*PICTURES, *photographs]
    parser.add_argument("names", nargs="*", choices=[[], *names], metavar="PICTURE", help=", ".join(names))
    parser.add_argument("--check", action="store_true", help="only say whether the committed pictures are up to date")
    given = parser.parse_args()
    stale = False
    for name in given.names or PICTURES:
        if name in photographs:
            photographs[name](DOCS / f"{name}.png")
            continue
        file = DOCS / f"{name}.svg"
        svg = draw(name, record(PICTURES[name]()))
        if not given.check:
            file.write_text(svg, encoding="utf-8")
            print(f"{file.name}: {len(svg):,} bytes")
            continue
        before, now = text_of(file.read_text(encoding="utf-8")), text_of(svg)
        for line in difflib.unified_diff(before, now, f"{file.name}, committed", "now", lineterm=""):
            stale = True
            print(line)
    if stale:
        sys.exit(f"These pictures are stale. Make them again: {shlex.join(['python', 'docs/pictures.py'])}")


if __name__ == "__main__":
    main()
