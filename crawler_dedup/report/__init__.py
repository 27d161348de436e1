"""The report of a crawl as one HTML file: collected from an index and its journals, drawn, laid out."""

from crawler_dedup.report.collector import collect
from crawler_dedup.report.data import ReportData
from crawler_dedup.report.rendering import render

__all__ = ["ReportData", "collect", "render"]
