"""Who may see the review pages and post to them: only the browser to which the command has given the address."""

from __future__ import annotations

import secrets
from urllib.parse import parse_qsl

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crawler_dedup.errors import DedupError

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
