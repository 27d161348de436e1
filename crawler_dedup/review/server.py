"""The server of the review pages, on the loopback interface only."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable
from contextlib import closing
from types import FrameType

import uvicorn

from crawler_dedup.errors import DedupError
from crawler_dedup.review.guard import HOST
from crawler_dedup.review.pages import make_app
from crawler_dedup.review.review import Review


def serve(review: Review, port: int, announce: Callable[[str], None]) -> None:
    """Serve the review pages until Ctrl-C.

    Args:
        port: the port; 0: any free one.
        announce: called with the address that the browser has to open, which contains the secret token.

    Raises:
        DedupError: the port cannot be used.
    """
    with closing(socket.socket()) as server_socket:
        server_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            server_socket.bind((HOST, port))
        except OSError as error:
            raise DedupError(f"Port {port} cannot be used: {error.strerror}.") from None
        port = server_socket.getsockname()[1]
        token = secrets.token_urlsafe()
        config = uvicorn.Config(
            make_app(review, port, token),
            log_level="error",
            access_log=False,
            server_header=False,
            lifespan="off",
            ws="none",
            http="h11",
        )
        server_socket.listen()
        announce(f"http://{HOST}:{port}/?token={token}")
        _Server(config).run(sockets=[server_socket])


class _Server(uvicorn.Server):
    """A server that ends at once: a thread may wait a minute for a page, and everything that was said is on the disk."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002  (uvicorn's)
        os._exit(0)
