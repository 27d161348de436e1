"""The review pages: who may see them, what each address shows, and what each button does; their server on this machine."""

from __future__ import annotations

import os
import secrets
import shlex
import socket
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import parse_qsl, urlencode

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crawler_dedup.errors import DedupError
from crawler_dedup.inspection.droptable import SEARCHED, Search
from crawler_dedup.report.rendering import make_environment
from crawler_dedup.review.review import MAX_ROWS, Review, compare_sides

HOST = "127.0.0.1"
"""The only interface on which the pages are served."""

_MAX_FORM = 1 << 16
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; form-action 'self'; base-uri 'none';"
        " frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers would post forms with "Origin: null"
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """Refuses requests that do not come from a page of this server, and adds headers to all responses.

    Args:
        port: the port of the server.
        token: the secret of the first address; the browser gets it as a cookie.
    """

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        self._app = app
        self._hosts = {f"{name}:{port}" for name in (HOST, "localhost")}
        self._token = token
        self._cookie = f"crawler-dedup-review-{port}"  # a browser sends cookies to all ports of a host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or refuse a request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        app = self._refuse(scope) or self._app
        await app(scope, receive, send_with_headers)

    def _refuse(self, scope: Scope) -> Response | None:
        """Return the response to a request that is not answered by the application."""
        request = Request(scope)
        host = request.headers.get("host", "")
        if host not in self._hosts:  # a name that leads to this machine now (DNS rebinding)
            return PlainTextResponse("This host name is not that of the review page.", 403)
        if request.method == "POST" and request.headers.get("origin") != f"http://{host}":
            return PlainTextResponse("Forms are accepted only from the review page itself.", 403)
        if _is_equal(request.query_params.get("token", ""), self._token):  # the token leaves the address in any case
            response = RedirectResponse("/", 303)
            response.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
            return response
        if _is_equal(request.cookies.get(self._cookie, ""), self._token):
            return None
        return PlainTextResponse("Open the address that `crawler-dedup review` has printed: it contains a token.", 403)


def _is_equal(text: str, secret: str) -> bool:
    return secrets.compare_digest(text.encode(), secret.encode())


async def read_form(request: Request, token: str) -> dict[str, str]:
    """Read a posted form, which has to contain *token*."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MAX_FORM:
            raise HTTPException(413, "The form is too large.")
    try:
        form = dict(parse_qsl(body.decode("utf-8", "replace"), max_num_fields=20))
    except ValueError as error:
        raise DedupError(f"The form cannot be read: {error}") from None
    if not _is_equal(form.get("form_token", ""), token):
        raise HTTPException(403, "The form is not from this review page: load the page again.")
    return form


_HERE = Path(__file__).parent
_REPORT = _HERE.with_name("report")
_DROPS = 50  # on a page of the list
_MAX_PAGE = 1_000_000
_TITLES = {403: "Refused", 404: "Not found", 413: "Too large"}


def make_app(review: Review, port: int, token: str) -> Starlette:
    """Make the application. *token* is the secret of the first address."""
    pages = _Pages(review)
    return Starlette(
        routes=[
            Route("/", pages.drops),
            Route("/next", pages.next_drop),
            Route("/drop/{number:int}", pages.drop),
            Route("/drop/{number:int}", pages.act, methods=["POST"]),
            Route("/precision", pages.precision),
            Route("/review.css", partial(_serve, [_REPORT / "report.css", _HERE / "review.css"], "text/css")),
            Route("/review.js", partial(_serve, [_HERE / "review.js"], "text/javascript")),
        ],
        middleware=[Middleware(Guard, port=port, token=token)],
        exception_handlers={DedupError: pages.error, OSError: pages.error, HTTPException: pages.error},
    )


def _serve(files: list[Path], media_type: str, _: Request) -> Response:
    return PlainTextResponse("\n".join(file.read_text("utf-8") for file in files), media_type=media_type)


class _Pages:
    """The pages of one review."""

    def __init__(self, review: Review) -> None:
        self._review = review
        self._form_token = secrets.token_urlsafe()
        self._templates = make_environment(_HERE)

    def drops(self, request: Request) -> Response:
        """List the drops that are searched for."""
        self._review.refresh()
        search, view = self._read_search(request)
        page = _page_number(view.get("page", ""))
        count, drops = self._review.find(search, page * _DROPS, _DROPS, doubtful_first=view["order"] == "doubt")
        return self._render(
            "drops.html.jinja",
            drops=[(drop, self._review.label_of(drop)) for drop in drops],
            count=count,
            first=page * _DROPS,
            page=page,
            choices=self._review.choices,
            damaged=sum(self._review.table.damaged.values()),
            **_links(view),
        )

    def next_drop(self, request: Request) -> Response:
        """Show the next drop about which nothing was said, or the list if there is none."""
        search, view = self._read_search(request)
        drop = self._review.find_unanswered(search, doubtful_first=view["order"] == "doubt")
        return RedirectResponse(f"/drop/{drop.id}?{urlencode(view)}" if drop else f"/?{urlencode(view)}", 303)

    def drop(self, request: Request) -> Response:
        """Show a dropped page beside its representative."""
        self._review.refresh()
        drop = self._review.get(request.path_params["number"])
        _, view = self._read_search(request)
        new, kept = self._review.contents(drop)
        return self._render(
            "drop.html.jinja",
            drop=drop,
            label=self._review.label_of(drop),
            overrides=self._review.overrides_of(drop),
            sides=compare_sides(new, kept, self._review.signer) if new and kept else None,
            lacks=self._review.find_lacks(drop)[:MAX_ROWS],
            is_stored=self._review.is_stored(drop),
            is_fetched=bool(kept.html),
            most_rows=MAX_ROWS,
            quote=shlex.quote,
            **_links(view),
        )

    async def act(self, request: Request) -> Response:
        """Do what a button says."""
        form = await read_form(request, self._form_token)
        _, view = await run_in_threadpool(self._read_search, request)
        goes_on = await run_in_threadpool(self._act, request.path_params["number"], form.get("action", ""))
        address = "/next" if goes_on else request.url.path
        return RedirectResponse(f"{address}?{urlencode(view)}", 303)

    def _act(self, number: int, action: str) -> bool:
        """Do what the button *action* says about a drop; return whether the next drop is to be shown."""
        drop = self._review.get(number)
        match action.split():
            case ["right"]:
                self._review.answer(drop, 1)
            case ["wrong"]:
                self._review.restore(drop)
            case ["fetch"]:
                self._review.fetch(drop)
            case ["separate" | "keep" as kind, *undo]:
                self._review.override(drop, kind, undo=bool(undo))
            case _:
                raise HTTPException(404, "There is no such button.")
        return action == "right"

    def precision(self, _: Request) -> Response:
        """Show how many of the drops are right, by the answers."""
        self._review.refresh()
        return self._render(
            "precision.html.jinja", shares=self._review.precision(), folder=str(self._review.answers.folder)
        )

    def error(self, request: Request, error: Exception) -> Response:  # noqa: ARG002  (Starlette's)
        """Show an error as a sentence."""
        status, message = (error.status_code, error.detail) if isinstance(error, HTTPException) else (409, str(error))
        return self._render(
            "error.html.jinja", status, heading=_TITLES.get(status, "This does not work"), message=message
        )

    def _render(self, template: str, status: int = 200, /, **values: Any) -> Response:
        content = self._templates.get_template(template).render(form_token=self._form_token, **values)
        return HTMLResponse(content.encode("utf-8", "replace"), status)

    def _read_search(self, request: Request) -> tuple[Search, dict[str, str]]:
        """Return the drops that an address asks for, and the same as the parameters of an address."""
        view = {name: value for name in (*SEARCHED, "page") if (value := request.query_params.get(name, "").strip())}
        return view, {**view, "order": "time" if request.query_params.get("order") == "time" else "doubt"}


def _page_number(text: str) -> int:
    return min(int(text), _MAX_PAGE) if text.isdecimal() and text.isascii() and len(text) < 10 else 0


def _links(view: Mapping[str, str]) -> dict[str, Any]:
    """Return what templates need to make links within a search."""
    return {
        "view": defaultdict(str, view),
        "query": urlencode(view),
        "link_with": lambda **more: urlencode({**view, **more}),
    }


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
