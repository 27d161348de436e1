"""Run the commands of the installed package in an empty directory: ``python .ci/try_wheel.py [spark]``.

Prints the seconds that each took. It needs the extras report, review and batch; with ``spark`` also this extra and Java.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import urllib.request
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMAND = Path(sysconfig.get_path("scripts"), "crawler-dedup")
TEXT = " ".join(f"word{number % 97}{number % 41}" for number in range(400))
SPARK = """
from pyspark.sql import SparkSession
from crawler_dedup.batch import spark
session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
pages = session.read.json("raw.jsonl")
print(spark.drop_duplicates(spark.sign(pages)).count(), "kept")
"""


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def page(text: str, frame: str) -> str:
    links = "".join(f'<a href="{name}.html">{name}</a> ' for name in "abc")
    return f"<html><title>{text[:20]}</title><nav>{frame} {links}</nav><main><p>{text}</p></main></html>"


def run(name: str, command: list[object], expected: str, *, status: int = 0) -> None:
    """Run a command, and exit unless it ends with *status* and prints *expected*."""
    begun = time.monotonic()
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    if done.returncode != status or expected not in done.stdout + done.stderr or "Traceback" in done.stderr:
        sys.exit(f"{name}: status {done.returncode}, {expected!r} was expected.\n{done.stdout}\n{done.stderr}")
    print(f"  {name}: {time.monotonic() - begun:.1f} s", flush=True)


def review() -> None:
    """Fetch the first page of the review."""
    with subprocess.Popen([COMMAND, "review"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            address = process.stdout.readline().split()[0]
            with urllib.request.build_opener(urllib.request.HTTPCookieProcessor()).open(address) as answer:
                assert b"b.html" in answer.read()
        finally:
            process.terminate()
    print("  review")


def main() -> None:
    pages = {"a": page(TEXT, "start"), "b": page(TEXT, "copy"), "c": page(TEXT[::-1], "other")}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.mkdir("site")
        for name, text in pages.items():
            Path("site", f"{name}.html").write_text(text, encoding="utf-8")
        lines = (json.dumps({"url": f"https://example.com/{name}", "html": text}) for name, text in pages.items())
        Path("raw.jsonl").write_text("\n".join(lines), encoding="utf-8")
        Path("work.txt").write_text(TEXT, encoding="utf-8")
        run("demo", [COMMAND, "demo"], "11 dropped")
        with ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory="site")) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            address = f"http://127.0.0.1:{server.server_port}/a.html"
            run("crawl", [COMMAND, "crawl", address, "-o", "pages.jsonl", "-s", "DOWNLOAD_DELAY=0"], "1 dropped")
            server.shutdown()
        run("drops", [COMMAND, "drops"], "b.html")
        run("report", [COMMAND, "report", "-o", "report.html"], "report.html")
        review()
        run("works add", [COMMAND, "works", "add", "work.txt", "--library", "works"], "1 work added")
        run("works check", [COMMAND, "works", "check", "site", "--library", "works"], "work", status=1)
        run("batch", [COMMAND, "batch", "run", "raw.jsonl", "-o", "job"], "")
        assert len(Path("job/clean/raw.jsonl").read_text(encoding="utf-8").splitlines()) == 2
        if "spark" in sys.argv:
            os.environ["PYSPARK_PYTHON"] = sys.executable
            run("spark", [sys.executable, "-c", SPARK], "2 kept")


if __name__ == "__main__":
    main()
