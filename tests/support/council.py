"""Two pages of a council that say the opposite of each other, and are taken for duplicates."""

from __future__ import annotations

TEXT = """
<p>The council has {decided} the plan for a new bridge over the river at the old mill, after a debate that lasted for more
than four hours on Thursday evening in the large hall of the school.</p>
<p>The bridge is meant to connect the station with the northern quarter, where about three thousand people live, and where
the next crossing is more than two kilometres away.</p>
<p>Engineers from the county have estimated that the work {begins} in the spring, that it takes about eighteen months, and
that the road along the bank stays closed to lorries for that time.</p>
<p>Residents of the lower town had collected signatures, because they expect more traffic in the narrow streets around the
market, and had asked for a second study of noise and of parking.</p>
<p>The mayor said that the decision was not an easy one, that everybody had been heard, and that the council is going to
look at the matter again as soon as the county publishes its figures.</p>
"""


def page(title: str, body: str) -> str:
    return f"<title>{title}</title><h1>{title}</h1>{body}"


def council(decided: str, begins: str, link: str = "") -> str:
    return page("The bridge at the old mill", TEXT.format(decided=decided, begins=begins) + link)
