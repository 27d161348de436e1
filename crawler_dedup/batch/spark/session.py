"""A session of Spark for the commands, with messages for its errors."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from crawler_dedup.errors import DedupError
from crawler_dedup.signing.behaviour import BEHAVIOUR
from crawler_dedup.system.callbacks import Advance, ignore_progress

_In = TypeVar("_In")
_Out = TypeVar("_Out")

_PYTHON = "PYSPARK_PYTHON"
_LONGEST = 1_000  # characters of a message of Spark


@contextmanager
def open_session(master: str) -> Iterator[SparkSession]:
    """Open a session on *master*, which ends with the block.

    Everything else is set in ``spark-defaults.conf`` or in ``PYSPARK_SUBMIT_ARGS``, as for any program.

    Raises:
        DedupError: there is no Java, Spark does not start, its executors cannot load this package, or a task fails.
    """
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        raise DedupError("Spark needs Java 17 or newer: there is no program java, and JAVA_HOME is not set.")
    if master.startswith("local"):  # executors are on this machine
        os.environ.setdefault(_PYTHON, sys.executable)
    try:
        builder = SparkSession.builder.master(master).appName("crawler-dedup").config("spark.log.level", "ERROR")
        session = builder.config("spark.ui.showConsoleProgress", str(sys.stderr.isatty()).lower()).getOrCreate()
    except (PySparkException, Py4JError, OSError) as error:
        is_gone = "stopped SparkContext" in str(error)  # the session was started without its master
        reason = "the master does not answer." if is_gone else _shorten(error)
        raise DedupError(f"Spark does not start on {master}: {reason}") from None
    try:
        _require_package(session)
        yield session
    except (PySparkException, Py4JError) as error:
        raise DedupError(f"A job of Spark failed: {_shorten(error)}") from None
    finally:
        session.stop()


def _shorten(error: Exception) -> str:
    """Return the cause in a message of Spark: the error that a Python worker has raised, or the start of the message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    raised = [line for line in lines if line.startswith("crawler_dedup.errors.") or "Error: " in line.split(" at ")[0]]
    text = raised[0] if raised else " ".join(lines)
    return text.removeprefix("crawler_dedup.errors.DedupError: ")[:_LONGEST]


def _require_package(session: SparkSession) -> None:
    """Raise :class:`DedupError` unless the executors have this package, in the same version of signatures."""
    try:
        (behaviour,) = call_on_executors(session, _read_behaviour, [None])
    except (PySparkException, Py4JError) as error:
        raise DedupError(
            "The executors of Spark cannot load crawler-dedup: it has to be installed there as well, or sent with the job"
            f" (--archives). {_shorten(error)}"
        ) from None
    if behaviour != BEHAVIOUR:
        raise DedupError(
            f"The executors of Spark have a crawler-dedup that signs in another way: {behaviour}, here {BEHAVIOUR}."
        )


def _read_behaviour(_: None) -> int:
    return BEHAVIOUR


def call_on_executors(
    session: SparkSession, function: Callable[[_In], _Out], arguments: Sequence[_In], advance: Advance = ignore_progress
) -> Iterator[_Out]:
    """Call *function* with each of *arguments*, in one task each; yield the results in order when all tasks have ended.

    Raises:
        DedupError: *function* has raised one, or an :class:`OSError`.
    """
    if not arguments:
        return
    parallel = session.sparkContext.parallelize(arguments, len(arguments))
    for result, problem in parallel.map(partial(_try_to_call, function)).collect():
        if problem is not None:
            raise DedupError(problem)
        yield result
        advance(1)


def _try_to_call(function: Callable[[_In], _Out], argument: _In) -> tuple[_Out | None, str | None]:
    """Return the result, or the message of an error: Spark would repeat a task that fails."""
    try:
        return function(argument), None
    except (DedupError, OSError) as error:
        return None, str(error)
