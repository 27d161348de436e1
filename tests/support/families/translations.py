"""One text in several languages and scripts."""

from __future__ import annotations

from tests.support.families.cases import Case, Family, duplicate, new, not_duplicate, part_and_whole
from tests.support.families.pages import Site, links, other_pages, p, table
from tests.support.families.prose import paragraphs

MUSEUM = Site(
    "museum.example",
    "Museum of Salt",
    ("Visit", "Exhibitions", "Collection", "Schools", "Shop"),
    side=links("Soon", en_night="Night of museums", en_tour="Tour of the shafts"),
    footer="Museum of Salt, 1 Pan Lane. Closed on Mondays.",
)
MUSEUM_DE = Site(
    "museum.example",
    "Salzmuseum",
    ("Besuch", "Ausstellungen", "Sammlung", "Schulen", "Laden"),
    side=links("Demnächst", de_nacht="Nacht der Museen", de_tour="Führung durch die Schächte"),
    footer="Salzmuseum, Pfannengasse 1. Montags geschlossen.",
    lang="de",
)
MUSEUM_ZH = Site(
    "museum.example",
    "盐博物馆",
    ("参观", "展览", "馆藏", "学校", "商店"),
    side=links("近期", zh_night="博物馆之夜", zh_tour="矿井导览"),
    footer="盐博物馆，盐锅巷一号。星期一闭馆。",
    lang="zh",
)
MUSEUM_HANT = Site(
    "museum.example",
    "鹽博物館",
    ("參觀", "展覽", "館藏", "學校", "商店"),
    side=links("近期", hant_night="博物館之夜", hant_tour="礦井導覽"),
    footer="鹽博物館，鹽鍋巷一號。星期一閉館。",
    lang="zh-Hant",
)

_ENGLISH = paragraphs("english", 2)
_GERMAN = paragraphs("german", 2, "de")
_ENGLISH_AGAIN = paragraphs("english again", 2)
_SIMPLIFIED = (
    "六百年间，人们在这座大厅里用铁锅熬盐，一口锅大得像舞池。八个工人用木耙把盐壳拉到锅边，蒸汽浓得看不见人，他们只"
    "好唱着歌干活，免得撞在一起。",
    "木柴顺着河漂下来，好的年头有四万根，直到山上再也没有树。一九六二年最后一口锅熄了火，工头留下钥匙，后来由他的女"
    "儿捐给了博物馆。",
)
_TRADITIONAL = (
    "六百年間，人們在這座大廳裡用鐵鍋熬鹽，一口鍋大得像舞池。八個工人用木耙把鹽殼拉到鍋邊，蒸汽濃得看不見人，他們只"
    "好唱著歌幹活，免得撞在一起。",
    "木柴順著河漂下來，好的年頭有四萬根，直到山上再也沒有樹。一九六二年最後一口鍋熄了火，工頭留下鑰匙，後來由他的女"
    "兒捐給了博物館。",
)
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
