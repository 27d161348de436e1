"""Manuals in several versions and on mirrors, and pages of a wiki with their history."""

from tests.support.families.cases import Case, Family, duplicate, new, part_and_whole
from tests.support.families.pages import Page, Site, h2, link, p, sites, table, ul
from tests.support.families.prose import heading, paragraph, paragraphs

_MENU = ("Install", "Tutorial", "Reference", "Recipes", "Releases")
MANUAL, MIRROR, WIKI = sites("manuals")

_FIRE = paragraphs("fire", 2)
_OPTIONS = (
    ("--port NAME", "The device of the controller; the first serial port if it is left out."),
    ("--log FILE", "Where readings are appended, a line for each second and sensor."),
    ("--dry-run", "Walk through the plan without closing a relay, at a thousand times the speed."),
)
_NEW_OPTION = ("--pause-at STEP", "Hold the temperature after this step until somebody presses a key at the console.")


def _command(
    path: str, *options: tuple[str, str], hours: int = 12, site: Site = MANUAL, version: str = "1.5", appended: str = ""
) -> Page:
    return site.page(
        path,
        "fire: heat a kiln along a plan",
        p(f"Version {version}"),
        p(*_FIRE, f"Without a plan it stops after {hours} hours, whatever the sensors say."),
        h2("Options of the command"),
        table(*options),
        appended,
    )


_SEALED = h2("Kilns with two chambers") + p(paragraph("sealed", 3))


def _method(name: str, says: str) -> Page:
    shared = paragraph("method", 4)
    return MANUAL.page(f"/latest/api/{name}", f"Kiln.{name}", p(says, shared), h2("Returns"), p("None."))


def _function(name: str, pattern: str, path: str = "") -> Page:
    text = p(
        paragraph("function", 4),
        "What matched last is kept for each thread until the next call, and can be read with the functions of this chapter.",
    )
    return MANUAL.page(
        path or f"/latest/functions/{name}", f"{name}()", text, h2("Returns"), p("A number, which is 0 or 1.")
    )


_ASH = paragraphs("ash", 2)
_ASH_LATER = (paragraph("ash later", 2),)


def _article(path: str, *texts: str, appended: str = "") -> Page:
    return WIKI.page(path, "Ash glaze", p(*texts), appended, crumbs=("Glazes",))


_HISTORY = WIKI.page(
    "/w/Ash_glaze?action=history",
    "Ash glaze: history of the page",
    ul(
        *(
            f"{link(f'/w/Ash_glaze?oldid={70 + at}', f'{at} May 2024')} {who}: {change}"
            for at, who, change in (
                (1, "Tamsin", "began the page"),
                (9, "W. Hobday", "washed ash loses potash"),
                (23, "Tamsin", "hop bines of the Weald"),
            )
        )
    ),
)
_TALK = _article(
    "/w/Talk:Ash_glaze",
    paragraph("talk", 2),
    "Leave them here until somebody has the analysis that the museum is said to hold. W. Hobday, 26 May.",
)

# fmt: off
_CASES: tuple[Case, ...] = (
    duplicate("one command in two versions that did not touch it", _command("/latest/fire", *_OPTIONS),
        _command("/1.5/fire", *_OPTIONS), "It is the page of the latest version under its number."),
    *part_and_whole("one command before and after an option was added", _command("/1.5/fire", *_OPTIONS),
        _command("/latest/fire", *_OPTIONS, _NEW_OPTION),
        "The later version documents all options of the earlier one, and one more."),
    new("one command with another limit", _command("/1.5/fire", *_OPTIONS),
        _command("/1.4/fire", *_OPTIONS, hours=48, version="1.4"),
        "The numbers of the version and of the hours after which it stops differ."),
    new("two methods above the same remarks",
        _method("open_lid", "Releases the bolt of the lid, as soon as the chamber is colder than sixty degrees."),
        _method("close_lid", "Draws the bolt of the lid, and waits until the contact says that it is shut."),
        "They do the opposite."),
    new("two functions whose names begin alike", _function("match_line", "a line of a log fits an expression"),
        _function("match_line_i", "a line of a log fits an expression, whether its letters are large or small"),
        "They are two functions, one of which regards the case of letters."),
    new("two functions whose names have the same words",
        _function("plan_to_log", "all steps of a plan were written into a log"),
        _function("log_to_plan", "all steps of a log were written into a plan"), "They do the opposite."),
    duplicate("a function under two addresses", _function("match_line", "a line of a log fits an expression"),
        _function("match_line", "a line of a log fits an expression", path="/latest/fn?name=match_line"),
        "It is the same page."),
    duplicate("a mirror in another frame", _command("/latest/fire", *_OPTIONS),
        _command("/bellows/fire", *_OPTIONS, site=MIRROR), "The mirror has the same page."),
    *part_and_whole("a mirror that has not seen the last chapter", _command("/bellows/fire", *_OPTIONS, site=MIRROR),
        _command("/latest/fire", *_OPTIONS, appended=_SEALED), "The manual has all of the mirror and a chapter more."),
    duplicate("the page of the wiki by its number", _article("/w/Ash_glaze", *_ASH, *_ASH_LATER),
        _article("/w/index.php?curid=118", *_ASH, *_ASH_LATER), "It is the same page."),
    *part_and_whole("an old state of the page of a wiki", _article("/w/Ash_glaze?oldid=79", *_ASH),
        _article("/w/Ash_glaze", *_ASH, *_ASH_LATER), "A paragraph was added later."),
    new("an old state with a paragraph that was removed", _article("/w/Ash_glaze", *_ASH),
        _article("/w/Ash_glaze?oldid=75", _ASH[0], _ASH_LATER[0]), "What was removed stands nowhere else."),
    new("the history of a page", _article("/w/Ash_glaze", *_ASH), _HISTORY, "It says who wrote what."),
    new("the talk about a page", _article("/w/Ash_glaze", *_ASH), _TALK,
        "It has the title of the page, and other words."),
    new("a section of a page under its title", _article("/w/Ash_glaze", *_ASH),
        _article("/w/Ash_glaze/Recipes", _ASH[1],
            appended=table(("Ash of beech", "40"), ("Feldspar", "40"), ("Ball clay", "20"))),
        "The recipe stands nowhere else."),
)
# fmt: on


def _make_other_pages() -> list[Page]:
    pages = []
    for number in range(24):
        name = heading(f"manual {number}")
        text = p(paragraph(f"manual {number} a", 3), paragraph(f"manual {number} b", 3))
        pages.append(MANUAL.page(f"/latest/{number}", name, p("Version 1.5"), text, h2("Options of the command")))
        pages.append(MIRROR.page(f"/kettle/{number}", heading(f"kettle {number}"), p(paragraph(f"kettle {number}", 5))))
        wiki = p(paragraph(f"wiki {number} a", 3), paragraph(f"wiki {number} b", 3))
        pages.append(WIKI.page(f"/w/{number}", heading(f"wiki {number}"), wiki, crumbs=("Kilns",)))
    return pages


MANUALS = Family("manuals", _CASES, _make_other_pages)
