"""The commands of ``crawler-dedup index``: what is done with an index between crawls."""
