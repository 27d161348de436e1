"""A running `crawler-dedup review`, and a browser without scripts for it."""

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

from tests.support import processes
from tests.support.commandline import PROGRAM, environment


class Reply(NamedTuple):
    """The response of the server."""

    status: int
    headers: dict[str, str]
    text: str


class Browser:
    """Requests pages and posts forms as a browser that was given the address of the review."""

    def __init__(self, address: str, process: processes.Process) -> None:
        self.address = address
        self.process = process
        self.port = urlsplit(address).port
        self.host = f"127.0.0.1:{self.port}"
        self.cookie = ""
        self.cookie = (
            self.request("GET", address.removeprefix(f"http://{self.host}")).headers["set-cookie"].split(";")[0]
        )

    def request(self, method: str, path: str, form: dict[str, str] | None = None, **headers: str) -> Reply:
        """Send one request; *headers* replace those of a browser."""
        sent = {"Host": self.host, "Cookie": self.cookie, **headers}
        body = None if form is None else urlencode(form)
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, body, sent)
        response = connection.getresponse()
        names = {name.lower(): value for name, value in response.getheaders()}
        reply = Reply(response.status, names, response.read().decode())
        connection.close()
        return reply

    def get(self, path: str = "/") -> Reply:
        """Request a page."""
        return self.request("GET", path)

    def drops(self, query: str = "") -> list[str]:
        """Return the paths of the drops in the list, in order."""
        return [unescape(path) for path in re.findall(r'<h2><a href="(/drop/.*?)"', self.get(f"/?{query}").text)]

    def press(self, path: str, action: str, origin: str = "", **changed: str) -> Reply:
        """Press a button on the page of a drop; *origin*: the site that sends the form, if not that of the review."""
        token = re.findall('name="form_token" value="(.*?)"', self.get(path).text)
        form = {"form_token": token[0], "action": action, **changed}
        return self.request("POST", path, form, Origin=origin or f"http://{self.host}")


@contextmanager
def review(directory: Path, *arguments: object) -> Iterator[Browser]:
    """Run the command in *directory* until the block ends."""
    command = [PROGRAM, "review", *map(str, arguments)]
    process = processes.start(command, cwd=directory, env=environment())
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    try:
        assert line.startswith("http://127.0.0.1:"), process.stderr.read()
        yield Browser(line.split()[0], process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=30)
    assert process.returncode == 0
