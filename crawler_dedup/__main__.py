"""``python -m crawler_dedup`` is the command ``crawler-dedup``."""

from __future__ import annotations

from crawler_dedup.cli import app

if __name__ == "__main__":
    app(prog_name="python -m crawler_dedup")
