"""With scrapy-zyte-api: both add-ons install their middlewares, and pages that its API returns are judged."""

import json
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.crawling import ADDONS, article, run_script
from tests.support.packages import needs_package

pytestmark = needs_package("scrapy_zyte_api")

PAGES = {
    "/page": article("page", links=["/copy", "/other"]),
    "/copy": article("page", frame="copy"),
    "/other": article("other"),
    "/rendered": article("page", frame="rendered"),
}


@contextmanager
def api() -> Iterator[str]:
    """Serve ``PAGES`` as Zyte API does, on loopback; gives the address of the API."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            page = PAGES[urlsplit(order["url"]).path]
            body = {"httpResponseBody": b64encode(page.encode()).decode()}
            content = {"browserHtml": page} if order.get("browserHtml") else body
            headers = [{"name": "Content-Type", "value": "text/html; charset=utf-8"}]
            fields = {"url": order["url"], "statusCode": 200, "httpResponseHeaders": headers}
            answer = json.dumps(fields | content).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1/"
        server.shutdown()
        thread.join()


SPIDER = """
from tests.support.walker import Walker

class Spider(Walker):
    async def start(self):
        yield self.request("/page")
        yield self.request("/rendered", meta={"zyte_api_automap": {"browserHtml": True}})

    def parse(self, response):
        self.notes.append(type(response).__name__)
        yield from super().parse(response)
"""


def test_pages_of_the_api_are_judged_with_both_add_ons_installed(tmp_path: Path) -> None:
    with api() as address:
        settings = {
            "ADDONS": {**ADDONS, "scrapy_zyte_api.Addon": 500},
            "ZYTE_API_KEY": "no key",
            "ZYTE_API_URL": address,
        }
        crawl = run_script(tmp_path, SPIDER, settings, site="http://pages.example")
    assert crawl.paths() == ["/page", "/other"]
    assert crawl.stats["scrapy-zyte-api/success"] == 4
    assert [note for note in crawl.notes if isinstance(note, str)] == ["ZyteAPITextResponse"] * 2
    errors = {note["path"]: note["decision"]["duplicate_of"] for note in crawl.notes if not isinstance(note, str)}
    assert errors == dict.fromkeys(["/rendered", "/copy"], "http://pages.example/page")
    assert crawl.counts("handled/") == {"well": 2, "settled": 2}
