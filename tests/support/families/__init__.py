"""Families of pages that a filter is easily wrong about, with the verdicts that a person would give.

``python -m tests.support.families`` prints how many of them the filter gives.
"""
