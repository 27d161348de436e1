"""The report of a crawl as one HTML file, made from an index and its journals."""

from crawler_dedup.report.collector import JOURNAL_PASSES, collect
from crawler_dedup.report.data import ReportData
from crawler_dedup.report.rendering import render

__all__ = ["JOURNAL_PASSES", "ReportData", "collect", "render"]
