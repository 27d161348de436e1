"""Families of pages that are difficult for a filter, with the verdicts that a person would give.

``python -m tests.support.families`` prints how many of these verdicts the filter gives.
"""
