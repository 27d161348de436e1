"""The examples for other crawlers make the decisions of a crawl with Scrapy on a saved site."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.crawling import SITE_SPIDER, run_script
from tests.support.data import served
from tests.support.packages import needs_package
from tests.support.processes import ROOT
from tests.support.servers import Server

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "docs" / "examples"
ONE_BY_ONE = {"CONCURRENT_REQUESTS": 1, "DEPTH_PRIORITY": 1}
"""The pages nearest to the start first, as in the loop of an example."""

Pages = dict[str, str]
"""The address of each page, and the address of the page of which it is a duplicate, or ``""``."""


def lines(content: str) -> Pages:
    return {line["url"]: line["duplicate_of"] for line in map(json.loads, content.splitlines())}


# With `--dist loadgroup` all crawls of a site run in one process, which crawls it with Scrapy once.
SITES = [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in ("gopl-zh-2024", "adrianmejia-2016")]


@pytest.fixture(scope="module", params=SITES)
def site(
    data: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[tuple[str, Pages]]:
    """Yield an address at which a saved site is served, and the decisions of Scrapy about its pages."""
    with served(request.param) as origin:
        start = f"{origin}/_all.html"
        settings = {**ONE_BY_ONE, "DEDUP_TOKENIZER": "auto"}
        crawl = run_script(tmp_path_factory.mktemp("scrapy"), SITE_SPIDER, settings, url=start)
        assert crawl.items
        assert crawl.drops
        kept = dict.fromkeys((item["url"] for item in crawl.items), "")
        yield start, kept | {drop["url"]: drop["duplicate_of"] for drop in crawl.drops}


@pytest.mark.parametrize("name", [pytest.param(name, marks=needs_package(name)) for name in ("httpx", "crawlee")])
def test_a_program_that_uses_the_deduplicator(name: str, site: tuple[str, Pages], tmp_path: Path) -> None:
    start, pages = site
    command = [sys.executable, str(EXAMPLES / f"{name}_crawl.py"), start, str(tmp_path / "index"), "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert lines(done.stdout) == pages


@needs_package("scrapy_redis")
def test_scrapy_redis(site: tuple[str, Pages], server: Server, tmp_path: Path) -> None:
    import redis

    start, pages = site
    server.empty()
    with redis.Redis(unix_socket_path=str(server.socket)) as client:
        client.rpush("shared:start_urls", json.dumps({"url": start}))
    settings = {
        **ONE_BY_ONE,
        "DEDUP_DIR": tmp_path / "index",
        "MAX_IDLE_TIME_BEFORE_CLOSE": 1,
        "REDIS_URL": f"unix://{server.socket}",
        "SCHEDULER_QUEUE_CLASS": "scrapy_redis.queue.FifoQueue",
    }
    options = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
    command = [sys.executable, "-m", "scrapy", "runspider", "-O", "pages.jsonl", *options]
    subprocess.run([*command, EXAMPLES / "scrapy_redis_crawl.py"], cwd=tmp_path, capture_output=True, check=True)
    assert lines((tmp_path / "pages.jsonl").read_text(encoding="utf-8")) == pages
