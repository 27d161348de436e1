"""What the filter did, as one page of HTML: gathered from an index and its journals, drawn, laid out."""

from crawler_dedup.report.figures import Figures
from crawler_dedup.report.gathering import gather
from crawler_dedup.report.page import render

__all__ = ["Figures", "gather", "render"]
