"""What a reader sees in the fields of a form: a text, what is selected or checked, the value of a meter."""

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
        selected = (option for option in field.iter("option") if option.get("selected") is not None)
        return " ".join([option.get("label") or option.text or "" for option in selected])
    kind = field.get("type", "").strip().lower()
    if kind not in _CHECKABLE and field.tag == "input" and field.get("name", "").lower() in _SEARCHES:
        return ""
    if kind in _CHECKABLE:
        return "" if field.get("checked") is None else _CHECKED
    shown = "" if kind in _UNREAD else field.get("value", "")
    return f"{shown} / {field.get('max')}" if shown and field.tag == "meter" and field.get("max") else shown
