"""All families."""

from __future__ import annotations

from tests.support.families.archives import ARCHIVES
from tests.support.families.calendars import CALENDARS
from tests.support.families.consent import CONSENT
from tests.support.families.copies import COPIES
from tests.support.families.editions import EDITIONS
from tests.support.families.forum import FORUM
from tests.support.families.manuals import MANUALS
from tests.support.families.missing import MISSING
from tests.support.families.news import NEWS
from tests.support.families.notices import NOTICES
from tests.support.families.parked import PARKED
from tests.support.families.products import PRODUCTS
from tests.support.families.search import SEARCH
from tests.support.families.shells import SHELLS
from tests.support.families.translations import TRANSLATIONS

FAMILIES = (
    FORUM,
    PRODUCTS,
    NEWS,
    EDITIONS,
    TRANSLATIONS,
    CALENDARS,
    SEARCH,
    CONSENT,
    MISSING,
    PARKED,
    SHELLS,
    ARCHIVES,
    COPIES,
    MANUALS,
    NOTICES,
)
