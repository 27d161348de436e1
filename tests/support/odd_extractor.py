"""A function for ``DEDUP_EXTRACTOR`` that does what the text of a page with the title "odd" says."""

import os
import re
import signal
import time

from lxml.html import HtmlElement

from crawler_dedup.signing import segmentation

HANGS_ONCE_LOADED = "老茶馆在立春那天重新开门"
"""A page that loads the dictionary, and then takes too long."""


def extract(tree: HtmlElement) -> str:
    """Return the text of a page, unless it is an odd one."""
    text = str(tree.xpath("string(.)"))
    if tree.findtext(".//title") != "odd":
        return text
    what = str(tree.xpath("string(//p)"))
    if what == "raise":
        raise LookupError("odd page")
    if what == "memory":
        return str(len(bytearray(8 << 30)))
    if what == "exit":
        os._exit(3)
    if what == "loop in C":
        re.match(r"(a+)+b", "a" * 64)
    if what == HANGS_ONCE_LOADED:
        segmentation._words = lambda _: time.sleep(600)  # type: ignore[assignment, return-value]
    if what in ("sleep", "nap"):
        time.sleep(600 if what == "sleep" else 0.2)
    signals = {"crash": signal.SIGSEGV, "kill": signal.SIGKILL, "stop": signal.SIGSTOP}
    if what in signals:
        os.kill(os.getpid(), signals[what])
    return text
