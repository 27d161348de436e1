"""The spiders of ``crawler-dedup demo`` and ``crawler-dedup crawl``."""
