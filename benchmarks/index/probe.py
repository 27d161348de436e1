"""Look-ups from the disk, in a new process: ``python -m benchmarks.index.probe DIRECTORY K DROP``.

The signatures to look up are read from standard input as JSON, so that nothing of the index is read before the
measurement. The figures are printed as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from benchmarks.index.signatureindex import SignatureIndex


def probe(directory: Path, k: int, asked: list[int], drop: str) -> Any:
    """Run this module in a separate process; return its figures."""
    command = [sys.executable, "-m", __name__, str(directory), str(k), drop]
    done = subprocess.run(command, input=json.dumps(asked), stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def rss_anon() -> int:
    """Return the bytes of this process's own memory, which does not include the mapped index."""
    status = Path("/proc/self/status").read_text("ascii")
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("RssAnon"))


def timed(index: SignatureIndex, asked: list[int], k: int) -> list[int]:
    """Return the nanoseconds of each look-up."""
    times = []
    for signature in asked:
        start = perf_counter_ns()
        index.query(signature, k)
        times.append(perf_counter_ns() - start)
    return times


def _cold(directory: Path, k: int, asked: list[int], drop: str) -> dict[str, Any]:
    """Time look-ups, each with the cache dropped before it, and count the bytes that were read from the disk.

    The index is opened again each time, because pages that are mapped are not dropped. (A miss also reads the pages around
    it, so after a few hundred look-ups a whole index of some gigabytes would be in the cache.)
    """
    times, read = [], 0
    for signature in asked:
        if drop == "drop_caches":
            Path("/proc/sys/vm/drop_caches").write_text("1", "ascii")
        else:
            _forget(directory / "data.mdb")
        with SignatureIndex.open(directory) as index:
            before = _bytes_read()
            times += timed(index, [signature], k)
            read += _bytes_read() - before
    return {"times": times, "read": read}


def _forget(file: Path) -> None:
    """Ask the system to drop *file* from its cache. No process may have it mapped."""
    handle = os.open(file, os.O_RDONLY)
    try:
        os.fdatasync(handle)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(handle)


def _bytes_read() -> int:
    lines = Path("/proc/self/io").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("read_bytes"))


def main() -> None:
    """Print the figures."""
    directory, k, drop = sys.argv[1:]
    print(json.dumps(_cold(Path(directory), int(k), json.load(sys.stdin), drop)))


if __name__ == "__main__":
    main()
