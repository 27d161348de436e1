"""One text in several languages and scripts."""

from tests.support.families.cases import Case, Family, duplicate, new, not_duplicate, part_and_whole
from tests.support.families.pages import other_pages, p, sites, table
from tests.support.families.prose import paragraphs, read_text

MUSEUM, MUSEUM_DE, MUSEUM_ZH, MUSEUM_HANT = sites("translations")

_ENGLISH = paragraphs("english", 2)
_GERMAN = paragraphs("german", 2, "de")
_ENGLISH_AGAIN = paragraphs("english again", 2)
_SIMPLIFIED = read_text("salt").splitlines()
_TRADITIONAL = read_text("salt in Traditional characters").splitlines()
_PRICES = (
    ("Adults", "9.50"),
    ("Children", "4.00"),
    ("Families", "21.00"),
    ("Groups", "7.20"),
    ("Pupils", "2.50"),
    ("Tour", "35.00"),
)
_PREISE = tuple(
    zip(
        ("Erwachsene", "Kinder", "Familien", "Gruppen", "Schüler", "Führung"),
        (price for _, price in _PRICES),
        strict=True,
    )
)
_HALL, _HALLE = "The boiling hall", "Das Sudhaus"

# fmt: off
_CASES: tuple[Case, ...] = (
    new("English and German", MUSEUM.page("/en/hall", _HALL, p(*_ENGLISH)),
        MUSEUM_DE.page("/de/halle", _HALLE, p(*_GERMAN)), "It is the same text for other readers."),
    new("German and English under one title", MUSEUM_DE.page("/de/halle", "Sole 1962", p(*_GERMAN)),
        MUSEUM.page("/en/hall", "Sole 1962", p(*_ENGLISH)), "It is the same text for other readers."),
    duplicate("a text without translation in a German frame",
        MUSEUM.page("/en/hall", _HALL, p(*_ENGLISH), head=f"{_HALL} – Museum of Salt"),
        MUSEUM_DE.page("/de/hall", _HALL, p(*_ENGLISH), head=f"{_HALL} – Salzmuseum"),
        "The text is English on both; only the menu is translated."),
    *part_and_whole("English, and English and German", MUSEUM.page("/en/hall", _HALL, p(*_ENGLISH)),
        MUSEUM.page("/hall", _HALL, p(*_ENGLISH), p(*_GERMAN)),
        "The page in both languages has all of the English one."),
    new("two translations", MUSEUM.page("/en/hall", _HALL, p(*_ENGLISH)),
        MUSEUM.page("/en/hall-2", _HALL, p(*_ENGLISH_AGAIN)), "Two people have translated in two ways."),
    not_duplicate("a table of prices in two languages",
        MUSEUM.page("/en/prices", "2024", p("Tickets at the desk; no cards."), table(*_PRICES)),
        MUSEUM_DE.page("/de/prices", "2024", p("Karten an der Kasse; nur bar."), table(*_PREISE)),
        "The figures agree, the words are for other readers."),
    not_duplicate("where to write to",
        MUSEUM.page("/en/contact", "Salt",
            p("Write to the museum or ring the bell at the gate; somebody will come and open.")),
        MUSEUM_DE.page("/de/contact", "Salt",
            p("Schreiben Sie uns oder läuten Sie am Tor; es wird jemand kommen und öffnen.")),
        "Two short pages for other readers."),
    duplicate(
        "简体与繁体",
        MUSEUM_ZH.page("/zh/hall", "熬盐大厅", p(*_SIMPLIFIED)),
        MUSEUM_HANT.page("/hant/hall", "熬鹽大廳", p(*_TRADITIONAL)),
        "It is the same text in the other writing; the filter folds it by default.",
        needs_site=True,  # the name of the site in the other script is nearly as long as the title
    ),
    duplicate("简体与繁体 under one generic title",
        MUSEUM_ZH.page("/zh/hall", "熬盐大厅", p(*_SIMPLIFIED), head="Museum of Salt"),
        MUSEUM_HANT.page("/hant/hall", "熬鹽大廳", p(*_TRADITIONAL), head="Museum of Salt"),
        "The headings are the same too, in the other writing."),
    new("English and Chinese", MUSEUM.page("/en/hall", _HALL, p(*_ENGLISH)),
        MUSEUM_ZH.page("/zh/hall", "熬盐大厅", p(*_SIMPLIFIED)), "It is the same text for other readers."),
    new("二语对照", MUSEUM_ZH.page("/zh/hall", "熬盐大厅", p(*_SIMPLIFIED)),
        MUSEUM_ZH.page("/zh-en/hall", "熬盐大厅", p(*_SIMPLIFIED), p(*_ENGLISH)), "It has the English text as well."),
)
# fmt: on


TRANSLATIONS = Family("translations", _CASES, lambda: other_pages((MUSEUM, MUSEUM_DE, MUSEUM_ZH), 12, 4, 2))
