"""Feed storages for spiders that store their files, fail, or never end."""

from __future__ import annotations

STORING = """
import asyncio, os
from pathlib import Path
from tempfile import TemporaryFile
from twisted.internet.defer import succeed
from tests.support.walker import Walker
import crawler_dedup.crawl.journalfeed

class Storage:
    def __init__(self, uri, *, feed_options=None):
        self.uri = uri

    def open(self, spider):
        self.spider = spider
        return TemporaryFile()

    def store(self, file):
        file.seek(0)
        name = self.uri.partition("://")[2].replace("/", " ")
        Path(os.environ["STORED"], self.spider.name + " " + name).write_bytes(file.read())
        file.close()

class Fails(Storage):
    def store(self, file):
        raise OSError("the other end is closed")

class Never(Storage):
    async def store(self, file):
        await asyncio.get_running_loop().create_future()

class Spider(Walker):
    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        crawler_dedup.crawl.journalfeed.TIMEOUT = kwargs.pop("timeout", 60)
        return super().from_crawler(crawler, *args, **kwargs)
"""

STORAGES = {"keep": "script.Storage", "fails": "script.Fails", "never": "script.Never"}
