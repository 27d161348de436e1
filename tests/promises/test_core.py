"""A crawl needs only the core: it works when all that stands beside it is removed from the installation."""

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.support.crawling import Site, article, html

ROOT = Path(__file__).parents[2]
SCRIPT = """
import json, sys
from pathlib import Path
import crawler_dedup, scrapy
from scrapy.crawler import CrawlerProcess

class Walk(scrapy.Spider):
    name = "walk"

    async def start(self):
        yield scrapy.Request(sys.argv[1])

    async def parse(self, response):
        yield {"url": response.url, "text": await crawler_dedup.main_text(response)}
        for request in response.follow_all(css="a"):
            yield request

process = CrawlerProcess({
    "ADDONS": {crawler_dedup.Addon: 500}, "DEDUP_DIR": sys.argv[2], "FEEDS": {"items.jsonl": {"format": "jsonlines"}},
})
crawler = process.create_crawler(Walk)
process.crawl(crawler)
process.start()
stats = {name: value for name, value in crawler.stats.get_stats().items() if name.startswith("dedup/")}
Path("result.json").write_text(json.dumps({"package": crawler_dedup.__file__, "stats": stats}))
"""


def beside_the_core() -> list[str]:
    """Return the modules that the contract of the core forbids it to import; ``**`` stands for all modules of a package."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = [row for row in project["tool"]["importlinter"]["contracts"] if row["id"] == "core"]
    return [*contract["forbidden_modules"], "crawler_dedup.__main__"]


def test_a_crawl_works_without_what_stands_beside_the_core(tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    shutil.copytree(ROOT / "crawler_dedup", installed / "crawler_dedup", ignore=shutil.ignore_patterns("__pycache__"))
    for module in beside_the_core():
        path = installed / module.removesuffix(".**").replace(".", "/")
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.with_suffix(".py").unlink()
    (tmp_path / "crawl.py").write_text(SCRIPT)
    pages = {"/": html(article(0, links=["/a", "/b"])), "/a": html(article(1)), "/b": html(article(1))}
    with Site(pages) as site:
        command = [sys.executable, str(tmp_path / "crawl.py"), f"{site.url}/", str(tmp_path / "index")]
        subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(installed)}, check=True, timeout=120)
    result = json.loads((tmp_path / "result.json").read_text())
    assert Path(result["package"]).is_relative_to(installed)
    assert (result["stats"]["dedup/checked"], result["stats"]["dedup/kept"]) == (3, 2)
    items = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
    assert len(items) == 2
    assert all(item["text"] for item in items)
