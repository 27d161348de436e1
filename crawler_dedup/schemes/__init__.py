"""Signature schemes, one file each."""

from crawler_dedup.schemes.simhash import SimHash

__all__ = ["SimHash"]
