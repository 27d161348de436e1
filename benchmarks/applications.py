"""Crawls of a real shop, forum and wiki on the loopback interface, without the filter and with it: ``python -m
benchmarks.applications --wiki FOLDER --python PYTHON [--only shop,forum] [--pages 400]``.

They are not among the dependencies of the project. The wiki (DokuWiki), in FOLDER, needs php-cli, php-xml and php-mbstring:

    apt-get download dokuwiki php-geshi php-phpseclib libphp-simplepie && for deb in *.deb; do dpkg -x $deb FOLDER; done

The shop (django-oscar) and the forum (django-machina) have an environment of their own, whose interpreter is PYTHON:

    python -m venv ENV && ENV/bin/pip install django-oscar django-machina Whoosh sorl-thumbnail

A page is a copy if its visible text without what half of the pages have is that of another: no rule of the filter is asked.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin
from urllib.request import urlopen

from lxml.html import HtmlElement, document_fromstring
from rich.console import Console
from rich.table import Table
from scrapy import signals
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response, TextResponse
from scrapy.link import Link
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule
from w3lib.url import add_or_replace_parameter, canonicalize_url

from benchmarks.data import visible_blocks
from crawler_dedup import near_duplicate_dropped
from tests.support.crawling import words

ACTIONS: dict[str, dict[str, Any]] = {
    "plain": {"ADDONS": {}},
    "default": {},
    "follow": {"DEDUP_ACTION": "follow"},
}
SECONDS = 1_200
"""Time that a crawl may take."""
_STARTING_SECONDS = 240
_FURNITURE = 0.5
_LABEL = 20  # characters; a shorter text that is nowhere in a filtered crawl may be the label of a button
_LATER_PAGE = re.compile(r"[?&]page=(?:[2-9]|\d\d)")
_LEFT_OUT = r"/feeds?[/.]|/lib/|/search/|/basket/add|do=export|do=media"
_ROOTS = re.compile(r"""(?<=['"])/(?=usr/share|etc/dokuwiki|var/lib/dokuwiki)""")
_DJANGO = """
import random, sys
from pathlib import Path
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIServer, make_server
import django
from django.apps import apps as registry
from django.conf import settings
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.urls import include, path
kind, folder, address = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
extra, chance, urlpatterns = {}, random.Random(1), []
words = (folder / "words.txt").read_text().split()
text = lambda size: " ".join(chance.choices(words, k=size)).capitalize() + "."
name = lambda: " ".join(chance.sample(words, 3)).title()
parts = "admin auth contenttypes sessions sites messages staticfiles flatpages"
contrib = [f"django.contrib.{part}" for part in parts.split()]
processors = ["django.template.context_processors.request", "django.contrib.auth.context_processors.auth",
    "django.contrib.messages.context_processors.messages", "django.template.context_processors.static"]
middleware = [f"django.contrib.{part}Middleware"
    for part in ("sessions.middleware.Session", "auth.middleware.Authentication", "messages.middleware.Message")]
if kind == "shop":
    import oscar, oscar.defaults
    apps = [app for app in oscar.INSTALLED_APPS if app not in contrib] + ["sorl.thumbnail"]
    extra = {key: getattr(oscar.defaults, key) for key in dir(oscar.defaults) if key.isupper()}
    processors += ["oscar.core.context_processors.metadata", "oscar.apps.search.context_processors.search_form"]
    middleware += ["oscar.apps.basket.middleware.BasketMiddleware"]
    engine, templates = "whoosh_backend.WhooshEngine", []
else:
    import machina
    parts = ("_conversation _conversation.forum_attachments _conversation.forum_polls _feeds _moderation _search _tracking"
        " _member _permission")
    apps = ["mptt", "haystack", "widget_tweaks", "machina", "machina.apps.forum"]
    apps += [f"machina.apps.forum{part}" for part in parts.split()]
    processors += ["machina.core.context_processors.metadata"]
    middleware += ["machina.apps.forum_permission.middleware.ForumPermissionMiddleware"]
    engine, templates = "simple_backend.SimpleEngine", [str(machina.MACHINA_MAIN_TEMPLATE_DIR)]
cache = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
settings.configure(SECRET_KEY="x", ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__, SITE_ID=1, STATIC_URL="/static/", USE_TZ=True,
    MEDIA_URL="/media/", MEDIA_ROOT=str(folder / "media"), DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    CACHES={"default": cache, "machina_attachments": cache}, MIDDLEWARE=middleware, INSTALLED_APPS=contrib + apps,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "db.sqlite3")}},
    HAYSTACK_CONNECTIONS={"default": {"ENGINE": f"haystack.backends.{engine}", "PATH": str(folder / "whoosh")}},
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "DIRS": templates, "APP_DIRS": True,
        "OPTIONS": {"context_processors": processors}}], **extra)
django.setup()
call_command("migrate", verbosity=0)
if kind == "shop":
    from oscar.apps.catalogue.models import Category, Product, ProductClass
    from oscar.apps.partner.models import Partner, StockRecord
    shop = registry.get_app_config("oscar")
    urlpatterns = [path("i18n/", include("django.conf.urls.i18n")), path("", include(shop.urls[0]))]
    goods = ProductClass.objects.create(name="Goods", track_stock=False, requires_shipping=False)
    partner = Partner.objects.create(name="House")
    # Each second category has a text above its list.
    categories = [Category.add_root(name=name(), description=f"<p>{text(200)}</p>" * (at % 2)) for at in range(12)]
    for at in range(240):
        about = {"title": name(), "description": text(chance.randint(5, 90)), "upc": str(at)}
        product = Product.objects.create(product_class=goods, **about)
        price = chance.randint(100, 9999) / 100
        StockRecord.objects.create(product=product, partner=partner, partner_sku=str(at), price=price)
        product.categories.add(*chance.sample(categories, 2))
    call_command("update_index", verbosity=0)
else:
    from django.contrib.auth.models import User
    from machina.apps.forum.models import Forum
    from machina.apps.forum_conversation.models import Post, Topic
    from machina.apps.forum_permission.models import ForumPermission, UserForumPermission
    urlpatterns = [path("", include("machina.urls"))]
    users = [User.objects.create(username=word) for word in chance.sample(words, 12)]
    top = Forum.objects.create(name=name(), type=Forum.FORUM_CAT)
    forums = [Forum.objects.create(name=name(), type=Forum.FORUM_POST, parent=top, description=text(12)) for _ in range(4)]
    for subject in (name() for _ in range(200)):
        about = {"poster": chance.choice(users), "subject": subject, "approved": True}
        topic = Topic.objects.create(forum=chance.choice(forums), type=0, status=0, **about)
        for _ in range(chance.choice([1, 1, 1, 2, 4, 25])):
            Post.objects.create(topic=topic, content=text(chance.randint(5, 80)), **about)
    for permission in ForumPermission.objects.filter(codename__in=("can_see_forum", "can_read_forum")):
        UserForumPermission.objects.create(permission=permission, anonymous_user=True, has_perm=True)
class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True
host, _, port = address.partition(":")
make_server(host, int(port), get_wsgi_application(), Server).serve_forever()
"""


def make_wiki(folder: Path, wiki: Path) -> Sequence[str]:
    """Copy a DokuWiki to *folder*, write its pages, and return the command that serves it."""
    if not (wiki / "usr/share/dokuwiki/doku.php").exists() or shutil.which("php") is None:
        sys.exit(f"No DokuWiki in {wiki}, or no php. How to install them:\n{__doc__}")
    shutil.copytree(wiki, folder, symlinks=True, dirs_exist_ok=True)
    root, conf, data = folder / "usr/share/dokuwiki", folder / "etc/dokuwiki", folder / "var/lib/dokuwiki"
    for name in ("plugins", "tpl"):
        (root / "lib" / name).unlink()
        (root / "lib" / name).symlink_to(data / "lib" / name)
    for file in (*root.glob("inc/*.php"), *root.glob("vendor/composer/*.php"), *conf.glob("*.php")):
        if not file.is_symlink():
            file.write_bytes(_ROOTS.sub(f"{folder}/", file.read_bytes().decode("latin-1")).encode("latin-1"))
    for name, content in {
        "local.php": "<?php $conf['title'] = 'Tea House'; $conf['useacl'] = 1; $conf['recent'] = 20;",
        "acl.auth.php": "*\t@ALL\t1\n",
        "users.auth.php": "admin:x:Admin:admin@example.invalid:admin\n",
    }.items():
        (conf / name).unlink(missing_ok=True)
        (conf / name).write_text(content)
    chance, titles = random.Random(1), words("titles", 120)
    names = ["start", *(f"part{at % 6}:{title}" for at, title in enumerate(titles))]
    for title, name in zip(["Tea House", *titles], names, strict=True):
        links = "".join(f"  * [[:{other}]]\n" for other in chance.sample(names, 20 if name == "start" else 4))
        texts = (" ".join(chance.choices(words("texts", 2_000), k=40)) for _ in range(chance.randrange(1, 6)))
        page = data / "data/pages" / f"{name.replace(':', '/')}.txt"
        page.parent.mkdir(exist_ok=True)
        page.write_text("\n\n".join([f"====== {title.title()} ======", *texts, links]))
    changes = [f"17000{at:05}\t127.0.0.1\tC\t{name}\t\tcreated\n" for at, name in enumerate(names)]
    (data / "data/meta/_dokuwiki.changes").write_text("".join(changes))
    return ["php", "-d", "display_errors=0", "-t", str(root), "-S"]


def make_django(kind: str, folder: Path, python: str) -> Sequence[str]:
    """Write the words of a shop or forum to *folder*, and return the command that fills and serves it."""
    needed = "oscar, whoosh, sorl" if kind == "shop" else "machina"
    if subprocess.run([python, "-c", f"import {needed}"], check=False, stderr=subprocess.DEVNULL).returncode:
        sys.exit(f"{python} cannot import {needed}. How to install them:\n{__doc__}")
    folder.mkdir()
    (folder / "words.txt").write_text(" ".join(words("texts", 2_000)))
    return [python, "-W", "ignore", "-c", _DJANGO, kind, str(folder)]


@contextmanager
def serving(command: Sequence[str], log: Path) -> Iterator[str]:
    """Serve an application on a free port, and yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    environment = os.environ | {"PHP_CLI_SERVER_WORKERS": "2"}
    with log.open("wb") as output:
        streams: dict[str, Any] = {"stdout": output, "stderr": output}
        server = subprocess.Popen([*command, address], env=environment, start_new_session=True, **streams)
    try:
        end = time.monotonic() + _STARTING_SECONDS
        while not _answers(f"http://{address}/"):
            if server.poll() is not None or time.monotonic() > end:
                sys.exit(f"{command[0]} does not serve:\n{log.read_text(errors='replace')[-2_000:]}")
            time.sleep(1)
        yield f"http://{address}/"
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def _answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=60) as response:
            return bool(response.status == 200)
    except OSError:
        return False


class Walk(CrawlSpider):
    """Follows all links of an application, and all orders of its lists, and stores each page."""

    name = "walk"
    rules = (Rule(LinkExtractor(deny=_LEFT_OUT), callback="store", follow=True),)

    def parse_start_url(self, response: Response, **_: Any) -> Iterator[Any]:
        return self.store(response)

    def store(self, response: Response) -> Iterator[Any]:
        if isinstance(response, TextResponse):
            for order in response.css("select[name=sort_by] option::attr(value)").getall():
                yield self._build_request(0, Link(add_or_replace_parameter(response.url, "sort_by", order)))
            yield {"url": response.url, "html": response.text}


def crawl(start: str, name: str, file: Path, pages: int) -> None:
    """Crawl an application breadth-first, and write its stored pages and the addresses that reached the spider to *file*.

    A page that the filter drops does not reach the spider: Scrapy neither signals its response nor counts it for
    ``CLOSESPIDER_PAGECOUNT``.
    """
    settings = {
        "ADDONS": {"crawler_dedup.Addon": 500},
        "LOG_LEVEL": "ERROR",
        "LOG_INSTALL_ROOT_HANDLER": False,
        "COOKIES_ENABLED": False,
        "DEPTH_PRIORITY": 1,
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
        "CONCURRENT_REQUESTS": 2,
        "CLOSESPIDER_PAGECOUNT": pages,
        "HTTPCACHE_ENABLED": True,  # all crawls get the same pages, and only the first one has them made
        "HTTPCACHE_DIR": str(file.parent / "cache"),
        "DEDUP_DIR": str(file.with_suffix("")),
    }
    process = CrawlerProcess(settings | ACTIONS[name])
    crawler = process.create_crawler(Walk)
    fetched: list[str] = []
    dropped: list[str] = []
    stored: list[dict[str, str]] = []
    crawler.signals.connect(lambda response: fetched.append(response.url), signals.response_received, weak=False)
    crawler.signals.connect(lambda response: dropped.append(response.url), near_duplicate_dropped, weak=False)
    crawler.signals.connect(lambda item: stored.append(dict(item)), signals.item_scraped, weak=False)
    process.crawl(crawler, start_urls=[start], allowed_domains=["127.0.0.1"])
    process.start()
    file.write_text(json.dumps({"fetched": fetched, "dropped": dropped, "stored": stored}))


class Crawl(NamedTuple):
    """The addresses that have reached the spider (*fetched*) or were dropped, the stored pages, and their visible blocks."""

    fetched: set[str]
    dropped: set[str]
    trees: dict[str, HtmlElement]
    blocks: dict[str, list[str]]


def read_crawl(start: str, name: str, file: Path, pages: int) -> Crawl:
    """Crawl in a process of its own, and read what it has written."""
    process = multiprocessing.get_context("spawn").Process(target=crawl, args=(start, name, file, pages))
    process.start()
    process.join(SECONDS)
    process.kill()
    content = json.loads(file.read_text())
    trees = {page["url"]: document_fromstring(page["html"]) for page in content["stored"]}
    blocks = {url: visible_blocks(tree) for url, tree in trees.items()}
    fetched, dropped = (set(map(canonicalize_url, content[name])) for name in ("fetched", "dropped"))
    return Crawl(fetched, dropped, trees, blocks)


def targets_of(url: str, tree: HtmlElement) -> set[str]:
    """Return the addresses to which a page links."""
    return {canonicalize_url(urljoin(url, href)) for href in tree.xpath("//a/@href")}


def entries_of(url: str, tree: HtmlElement) -> frozenset[str]:
    """Return the addresses without parameters to which a page links: those of the entries of a list, in any order."""
    return frozenset(target for target in targets_of(url, tree) if "?" not in target)


def report(table: Table, application: str, crawls: dict[str, Crawl]) -> None:
    """Add a row for each crawl."""
    plain = crawls["plain"]
    counts = Counter(block for blocks in plain.blocks.values() for block in set(blocks))
    furniture = {block for block, count in counts.items() if count >= _FURNITURE * len(plain.trees)}
    targets: tuple[set[str], set[str]] = set(), set()  # of links on first pages of lists and others, and on later pages
    for url, tree in plain.trees.items():
        targets[bool(_LATER_PAGE.search(url))].update(targets_of(url, tree))
    behind = (targets[1] - targets[0]) & plain.fetched
    for name, crawled in crawls.items():
        texts = [tuple(block for block in blocks if block not in furniture) for blocks in crawled.blocks.values()]
        had = {block for blocks in crawled.blocks.values() for block in blocks}
        contents = {block for block in counts if len(block) >= _LABEL}
        entries = {entries_of(url, tree) for url, tree in crawled.trees.items()}
        missing = behind - crawled.fetched - crawled.dropped
        lost = [
            url
            for url, tree in plain.trees.items()
            if canonicalize_url(url) in missing and entries_of(url, tree) not in entries
        ]
        reached = f"{len(behind) - len(lost)} of {len(behind)}"
        row = (len(crawled.fetched), len(texts), len(texts) - len(set(texts)), len(contents - had), reached)
        table.add_row(application, name, *map(str, row))


def main() -> None:
    """Start each application, crawl it, and print what was stored."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wiki", type=Path, default=Path("dokuwiki"))
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--only", default="shop,forum,wiki")
    parser.add_argument("--pages", type=int, default=400)
    given = parser.parse_args()
    table = Table("", "crawl", "fetched", "stored", "copies", "texts lost", "behind page 2")
    for kind in given.only.split(","):
        with tempfile.TemporaryDirectory() as name:
            top, folder = Path(name), Path(name) / kind
            command = make_wiki(folder, given.wiki) if kind == "wiki" else make_django(kind, folder, given.python)
            with serving(command, top / "log") as start:
                files = {name: top / f"{name}.json" for name in ACTIONS}
                report(table, kind, {name: read_crawl(start, name, file, given.pages) for name, file in files.items()})
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
