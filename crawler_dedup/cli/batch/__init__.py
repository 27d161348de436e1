"""The commands of ``crawler-dedup batch``."""
