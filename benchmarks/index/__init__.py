"""Benchmarks of the index by itself: look-ups, inserts and sizes, compared with its peers."""
