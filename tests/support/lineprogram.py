"""Programs that answer each line of their input with a line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Self


class LineProgram:
    """A module that runs as a program of its own; it is killed at the end of the context."""

    def __init__(self, module: str, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            cwd=Path(__file__).parents[2],
        )

    def send(self, line: str) -> None:
        """Write a line to the program."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def receive(self) -> str:
        """Wait for the next line of the program; ``""`` if it has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def close(self) -> None:
        """End the program."""
        self.process.kill()
        self.process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
