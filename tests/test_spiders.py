"""The spiders of the checkout, as a user copies them into a project: each crawls a served site."""

import json
import re
from pathlib import Path
from typing import Any

import settings as checkout
from crawler_dedup import Config
from crawler_dedup.config.settings import setting_name
from tests.support.crawling import Answer, Site, article, html, run_scrapy
from tests.support.processes import ROOT


def crawl(directory: Path, spider: str, **arguments: str) -> list[dict[str, Any]]:
    """Return the items of a crawl without delays, whose index is in *directory*."""
    options = {
        "DEDUP_DIR": str(directory / "index"),
        "DOWNLOAD_DELAY": "0",
        "AUTOTHROTTLE_ENABLED": "False",
        "CONCURRENT_REQUESTS": "1",
    }
    given = [word for name, value in arguments.items() for word in ("-a", f"{name}={value}")]
    given += [word for name, value in options.items() for word in ("-s", f"{name}={value}")]
    done = run_scrapy(ROOT, "crawl", spider, *given, "-O", str(directory / "items.jsonl"))
    assert "ERROR" not in done.stdout
    assert done.returncode == 0, done.stdout
    return [json.loads(line) for line in (directory / "items.jsonl").read_text("utf-8").splitlines()]


def test_a_spider_that_knows_nothing_of_the_filter_yields_each_article_once(tmp_path: Path) -> None:
    addresses = "/article/{}", "/article/{}?from=front", "/print/{}"
    articles = {
        address.format(number): html(article(number, frame=address, links=[address.format((number + 1) % 4)]))
        for number in range(4)
        for address in addresses
    }
    # Only the article before it leads to the last one.
    links = "".join(f'<a href="{path}">{path}</a> ' for path in articles if "3" not in path)
    with Site({"/": html(f"<title>Stories</title>{links}"), **articles}) as site:
        items = crawl(tmp_path, "articles", url=f"{site.url}/")
    assert items[0]["url"] == f"{site.url}/"
    assert sorted(item["title"] for item in items[1:]) == [f"Article {number}" for number in range(4)]


def test_the_news_spider_yields_what_is_new_or_has_changed(tmp_path: Path) -> None:
    with Site({}) as site:
        paths = [f"/{newspaper}/{number}" for number in range(3) for newspaper in ("gazette", "herald")]
        site.pages |= {path: html(article(f"report {path[-1]}", frame=path[:-2])) for path in paths}
        locations = "".join(f"<url><loc>{site.url}{path}</loc></url>" for path in paths)
        sitemap = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{locations}</urlset>'
        site.pages["/sitemap.xml"] = Answer(sitemap.encode(), headers=(("Content-Type", "application/xml"),))
        first, second = (crawl(tmp_path, "news", sitemap=f"{site.url}/sitemap.xml") for _ in range(2))
        assert sorted(item["url"][-1] for item in first) == ["0", "1", "2"]
        assert second == []
        changed = first[0]["url"].removeprefix(site.url)
        site.pages[changed] = html(article("quite another report"))
        items = crawl(tmp_path, "news", sitemap=f"{site.url}/sitemap.xml")
    # The other newspaper now has the only copy of the first report.
    assert sorted((item["is_update"], item["url"][-1]) for item in items) == [(False, changed[-1]), (True, changed[-1])]
    assert all(len(item["text"]) > 500 for item in items)


def test_the_council_spider_compares_no_page_of_the_exempt_section(tmp_path: Path) -> None:
    text = article("debate")
    paths = ["/minutes/1", "/minutes/2", "/news/1", "/news/2"]
    links = "".join(f'<a href="{path}">{path}</a>' for path in paths)
    with Site({"/": html(links), **{path: html(text) for path in paths}}) as site:
        items = crawl(tmp_path, "council", url=f"{site.url}/")
        revisited = crawl(tmp_path, "council", url=f"{site.url}/")
    assert {item["url"]: item["also_at"] for item in revisited if item["also_at"]} == {
        f"{site.url}/news/1": [f"{site.url}/news/2"]
    }
    assert {item["url"].removeprefix(site.url): item["verdict"] for item in items} == {
        "/": "new",
        "/minutes/1": None,
        "/minutes/2": None,
        "/news/1": "new",
    }
    assert len({item["text"] for item in items if item["url"] != f"{site.url}/"}) == 1


def test_the_settings_of_the_checkout_show_defaults() -> None:
    lines = Path(str(checkout.__file__)).read_text("utf-8").splitlines()
    matches = (re.match(r"# (DEDUP_\w+) = (.+?)  # ", line) for line in lines)
    shown = {match[1]: match[2] for match in matches if match}
    assert len(shown) == 9
    defaults = {setting_name(name): value for name, value in vars(Config()).items()}
    for name, value in shown.items():
        assert json.loads(value.lower()) == json.loads(json.dumps(defaults[name])), name
