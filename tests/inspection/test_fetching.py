"""Pages that are fetched again, from servers that answer as no server should: each ends soon, as a page or a sentence."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from crawler_dedup.errors import DedupError
from crawler_dedup.inspection import fetching
from crawler_dedup.inspection.fetching import fetch_page
from tests.support.crawling import Answer, Site, html

Send = Callable[[bytes], None]
FINE = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\npage"


@contextmanager
def answering(answer: Callable[[str, Send], None]) -> Iterator[str]:
    """Yield the address of a server that leaves every byte to *answer*, which gets the path."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                path = connection.recv(65_536).split()[1].decode()
                answer(path, connection.sendall)

        def accept() -> None:
            with suppress(OSError):  # the test is over
                while True:
                    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def drips(start: bytes, drop: bytes) -> Callable[[str, Send], None]:
    """Return an answer that is never silent and never ends."""

    def answer(_: str, send: Send) -> None:
        send(start)
        while True:
            send(drop)
            time.sleep(0.05)

    return answer


def test_a_response_that_never_ends_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "_MAX_SECONDS", 0.2)
    for answer in [
        drips(b"", b"H"),
        drips(b"HTTP/1.1 200 OK\r\nX: ", b"x"),
        drips(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        drips(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"0"),
        drips(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npage\r\n0\r\n", b"X: trailer\r\n"),
    ]:
        with answering(answer) as address, pytest.raises(DedupError, match="takes longer than 0 seconds"):
            fetch_page(address, 1_000)


def test_the_body_of_a_redirection_is_not_read() -> None:
    def answer(path: str, send: Send) -> None:
        if path == "/page":
            send(FINE)
            return
        send(b"HTTP/1.1 302 Found\r\nLocation: /page\r\n\r\n")
        while True:
            send(b"without end " * 5_000)

    with answering(answer) as address:
        fetched = fetch_page(f"{address}/", 1_000)
    assert (fetched.url, fetched.body) == (f"{address}/page", b"page")


def test_a_server_that_demands_a_day_of_waiting_is_not_asked_again() -> None:
    with Site({"/": Answer(b"", 503, (("Retry-After", "86400"),))}) as site:
        with pytest.raises(DedupError, match="status 503"):
            fetch_page(f"{site.url}/", 1_000)
        assert site.paths() == ["/"]


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/", "data:text/html,page", "javascript:0"])
def test_a_redirection_to_an_invalid_address_is_not_followed(target: str) -> None:
    with (
        Site({"/": Answer(b"", 302, (("Location", target),))}) as site,
        pytest.raises(DedupError, match="does not redirect to an address"),
    ):
        fetch_page(f"{site.url}/", 1_000)


def test_an_encoding_that_decodes_no_text_is_ignored() -> None:
    for charset in ["idna", "hex", "rot13", "undefined", "no-such-charset"]:
        with Site({"/": html("<p>caf\u00e9</p>", Content_Type=f"text/html; charset={charset}")}) as site:
            fetched = fetch_page(f"{site.url}/", 1_000)
        assert (fetched.encoding, fetched.self_describing_body) == (None, "<p>caf\u00e9</p>".encode())


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"nonsense " * 7_000 + b"\r\n\r\n", "the answer is no HTTP."),
        (b"HTTP/1.1 302 Found\r\nLocation: http://" + b"a" * 50_000 + b"/\r\n\r\n", "…"),
        (FINE.replace(b"Connection: close", b"Content-Encoding: gzip"), "failed to decode it."),
        (b"", "Remote end closed connection without response"),
    ],
    ids=["no HTTP", "an address that is none", "no gzip", "nothing"],
)
def test_the_reason_is_a_short_sentence_whatever_the_server_answers(answer: bytes, reason: str) -> None:
    with answering(lambda _, send: send(answer)) as address, pytest.raises(DedupError) as caught:
        fetch_page(address, 1_000)
    assert str(caught.value).startswith(f"{address} cannot be fetched: ")
    assert str(caught.value).endswith(reason)
    assert len(str(caught.value)) < 400
