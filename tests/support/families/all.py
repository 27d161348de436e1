"""All families, each from the module of its name."""

from importlib import import_module

from tests.support.families.cases import Family

_NAMES = (
    "forum products news editions translations calendars search consent missing parked shells archives copies manuals"
    " notices"
)
FAMILIES: tuple[Family, ...] = tuple(
    getattr(import_module(f"tests.support.families.{name}"), name.upper()) for name in _NAMES.split()
)
