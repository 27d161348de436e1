"""Fields of forms: the text that each shows."""

from __future__ import annotations

from lxml.html import HtmlElement

FIELDS = frozenset("input meter progress select textarea".split())
# Fields that show no text, only the label of an action, or what a visitor has typed.
_UNREAD = frozenset("button color file hidden image password range reset search submit".split())
_SEARCHES = frozenset("keyword keywords q query s search searchword".split())
_CHECKABLE = frozenset(("checkbox", "radio"))
_CHECKED = "✓"


def read_field(field: HtmlElement) -> str:
    """Return the text that a *field* shows; ``""`` for one that is empty, or for a search, a password or an action."""
    if field.tag == "textarea":
        return field.text or ""
    if field.tag == "select":
        options = list(field.iter("option"))
        selected = [option for option in options if option.get("selected") is not None]
        first = options[:1] if field.get("multiple") is None else []
        return " ".join([option.get("label") or option.text or "" for option in selected or first])
    kind = field.get("type", "").strip().lower()
    if kind not in _CHECKABLE and field.tag == "input" and field.get("name", "").lower() in _SEARCHES:
        return ""
    if kind in _CHECKABLE:
        return "" if field.get("checked") is None else _CHECKED
    shown = "" if kind in _UNREAD else field.get("value", "")
    return f"{shown} / {field.get('max')}" if shown and field.tag != "input" and field.get("max") else shown
