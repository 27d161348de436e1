"""Signing process: signs the pages that it reads from a socket. ``crawl/childprocess`` starts it with ``python -m``."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from crawler_dedup.config import Config
from crawler_dedup.signing.extractors import extract_text
from crawler_dedup.signing.forms import CrawlSigner
from crawler_dedup.signing.messages import Answer, Job, Start, TextJob
from crawler_dedup.signing.owntext import OwnTextJob
from crawler_dedup.signing.signer import Signer
from crawler_dedup.system.channel import Channel, Failure, end_with_parent, serve

MAX_MEMORY = 2 << 30
"""Bytes of address space that a process may take for pages (on Linux), beside its libraries. No page within the default
limits takes a tenth; a page that takes more would end the crawl, or other programs, where memory is short."""


def _sign_all(channel: Channel) -> None:
    """Answer all messages. Raises :class:`EOFError` or :class:`ConnectionError` when the socket has ended."""
    start = msgspec.msgpack.decode(channel.read()[0], type=Start)
    end_with_parent(start.parent)
    try:
        signer = Signer(Config(**start.settings), before_loading=lambda: channel.send(None))
        signer.load(dictionary=False)
    except Exception as error:
        channel.send(Failure.of(error))
        return
    _limit_memory()
    channel.send(None)
    crawl_signer = CrawlSigner(signer)
    decoder = msgspec.msgpack.Decoder(Job)
    while True:
        message, body = channel.read()
        channel.send(_answer(crawl_signer, decoder.decode(message), body))


def _answer(signer: CrawlSigner, job: Job, body: bytes) -> Answer:
    try:
        if isinstance(job, TextJob):
            return Answer(text=extract_text(body, job.encoding, whole=job.whole))
        if isinstance(job, OwnTextJob):
            return Answer(own_text=signer.own_texts.make(body, job))
        return signer.sign(job, body)
    except Exception as error:
        return Answer(failure=Failure.of(error))


def _limit_memory() -> None:
    if sys.platform != "linux":
        return
    import resource  # noqa: PLC0415  (not on Windows)

    with suppress(OSError):  # there is no /proc
        taken = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        limits = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_AS, (min([taken + MAX_MEMORY, *limits]), hard))


def main() -> None:
    """Sign pages until the socket ends."""
    serve(_sign_all)


if __name__ == "__main__":
    main()
