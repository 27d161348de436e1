"""Pages of every kind, written by hand, each with the main text that is extracted from it."""

from __future__ import annotations

from typing import NamedTuple


def _list(*items: str) -> str:
    return f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"


_MENU = _list(*(f"<a href=/{name}>{name}</a>" for name in ("home", "boats", "ropes", "about us")))
_HEAD = f"<header><a href=/>Harbour House</a><nav>{_MENU}</nav></header>"
_FOOT = "<footer><p>© Harbour House, all rights reserved</p></footer>"

_SHORT_SPLICE = (
    "A short splice joins two ropes of the same size. Unlay three turns of each, marry the strands, and tuck every strand"
    " over one and under the next, three times on either side of the middle."
)
_LONG_SPLICE = (
    "A long splice is no thicker than the rope, and so it runs through a block. It takes fifteen turns of each rope, and"
    " most of an afternoon; beginners waste a fathom before the first one holds."
)
_ANSWER = "Tuck against the lay, then roll the splice under your foot. Mine held the dinghy all winter, gales and all."
_THANKS = (
    "That did it, thank you. I had tucked with the lay, so that every strand slipped as soon as there was a load on it."
)


class HandWritten(NamedTuple):
    """A page, and the lines of its main text."""

    html: str
    main_text: list[str]


def _page(title: str, body: str, *main_text: str, head: str = _HEAD) -> HandWritten:
    html = f"<!doctype html><html><head><title>{title}</title></head><body>{head}{body}{_FOOT}</body></html>"
    return HandWritten(html, [*main_text])


_READ_ON = [f"<a href=/read/{name}>{name}</a>" for name in ("Whipping", "Seizing", "Eye splices", "Knots")]
_FITTINGS = {
    "Stainless bow shackle, 8 mm": "€ 7.40 each",
    "Galvanised thimble for rope": "€ 1.10 a pair",
    "Block with a bronze sheave": "€ 38.00 each",
    "Cleat of oak, two holes each": "€ 12.50 each",
    "Swivel that does not jam at all": "€ 9.90 each",
}
_NEWS = [
    "Ferry to the island runs again after the storm",
    "Old crane on the eastern quay gets a new jib",
    "Swimmers asked to keep clear of the slipway",
    "Lighthouse open to visitors on the first Sunday",
    "Dredger expected back at the end of the month",
]
_MEASURES = {"Diameter": "12 mm, three strands", "Material": "hemp, tarred", "Breaks at": "9,800 newtons, when dry"}
_DESCRIBED = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in _MEASURES.items())
_OFFERS = [
    f"<div><h3><a href=/fitting/{number}>{name}</a></h3><p>{price}</p></div>"
    for number, (name, price) in enumerate(_FITTINGS.items())
]
_CODE = """tuck = rope.unlay(turns=3)
for strand in tuck: strand.over(1).under(1)
rope.marry(other, tuck).roll()
rope.whip(ends=True)"""
_STEPS = dict(
    zip(
        ["Unlay the ends", "Marry the strands", "Tuck three times", "Roll and trim it"],
        [_SHORT_SPLICE, _LONG_SPLICE, _ANSWER, _THANKS],
        strict=True,
    )
)
_CONTENTS = [f"<a href=#{number}>{number}. {step} of both of the ropes</a>" for number, step in enumerate(_STEPS)]
_SECTIONS = "".join(f"<section><div><h2>{step}</h2></div><div>{text}</div></section>" for step, text in _STEPS.items())
_POSTS = "".join(f"<article><p>{text}</p></article>" for text in (_SHORT_SPLICE, _ANSWER, _THANKS))
_HEADLINES = "".join(f"<h3><a href=/news/{number}>{line}</a></h3>" for number, line in enumerate(_NEWS))
_SPLICING = f"<main><h1>Splicing</h1><p>{_SHORT_SPLICE}</p><p>{_LONG_SPLICE}</p></main>"
_SPLICING_TEXT = ("Splicing", _SHORT_SPLICE, _LONG_SPLICE)

# fmt: off
PAGES = {
    "article": _page("Splicing", f"{_SPLICING}<div><h4>Read on</h4>{_list(*_READ_ON)}</div>", *_SPLICING_TEXT),
    "documentation": _page("rope.marry",
        f"{_list(*_CONTENTS)}<div><p>{_SHORT_SPLICE}</p><pre>{_CODE}</pre><p>{_LONG_SPLICE}</p></div>",
        _SHORT_SPLICE, " ".join(_CODE.split()), _LONG_SPLICE),
    "service": _page("We splice", f"<main>{_SECTIONS}</main>", *[line for step in _STEPS.items() for line in step]),
    "product": _page("Hemp rope",
        f"<main><div><h1>Hemp rope</h1><p>{_SHORT_SPLICE}</p></div><div><table>{_DESCRIBED}</table></div>"
        f"<div class=narrow><div>{_SHORT_SPLICE}</div></div></main>", "Hemp rope", _SHORT_SPLICE),
    "forum": _page("My splice slips",
        f"<div id=app></div><noscript><header><a href=/>Harbour House</a></header><h1>My splice slips</h1>{_POSTS}"
        "<footer><a href=/about>About this board</a></footer></noscript>", _SHORT_SPLICE, _ANSWER, _THANKS, head=""),
    "collection": _page("Fittings",
        f"<div><h1>Fittings</h1>{_list(*_OFFERS)}</div><div><p>We ship on Mondays.</p></div>",
        *[line for offer in _FITTINGS.items() for line in offer]),
    "listing": _page("News", f"<div>{_HEADLINES}</div>", *_NEWS),
    "swallowed": _page("Splicing", _SPLICING, *_SPLICING_TEXT, head=f"<nav><div>{_MENU}</nav>"),
}
# fmt: on
"""Pages by kind; in ``swallowed`` an element for navigation is never closed."""
