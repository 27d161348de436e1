"""Plain text as a page, so that it is signed as pages are."""

from __future__ import annotations

from html import escape


def write_html(text: str, title: str = "") -> bytes:
    """Return *text*, paragraphs separated by empty lines, as HTML in UTF-8."""
    paragraphs = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in text.split("\n\n") if paragraph.strip())
    head = f"<title>{escape(title)}</title>" if title else ""
    page = f"<html><head><meta charset='utf-8'>{head}</head><body>{paragraphs}</body></html>"
    return page.encode("utf-8", "replace")
