"""The JSON Lines of ``compare`` and ``trace``."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from crawler_dedup.cli.jsontypes.base import Line, Part


class ComparedPage(Part, frozen=True, kw_only=True):
    """One of the two pages of a comparison."""

    url: Annotated[str, Meta(description="Its address.")]
    title: Annotated[str, Meta(description="Its title.")]
    kind: Annotated[str, Meta(description="`text`, or what else it is.")]
    unsigned: Annotated[str, Meta(description="Why it cannot be compared; empty: it can.")]
    chars: Annotated[int, Meta(description="Characters of its main text.")]
    features: Annotated[int, Meta(description="Number of different features.")]
    links: Annotated[int, Meta(description="Number of its outlinks.")]
    is_list: Annotated[bool, Meta(description="Whether it counts as a list of links.")]
    signature: Annotated[str, Meta(description="Its signature, 16 hexadecimal digits.")]
    text: Annotated[str | None, Meta(description="Its main text; null with --brief.")]
    boilerplate: Annotated[list[str] | None, Meta(description="What else the page shows; null with --brief.")]
    tokens_only_here: Annotated[
        dict[str, int], Meta(description="Tokens that the other page lacks, with their counts.")
    ]


class RuleResult(Part, frozen=True, kw_only=True):
    """The answer of a rule about a pair of pages."""

    rule: Annotated[str, Meta(description="Name of the rule.")]
    duplicate: Annotated[bool | None, Meta(description="Its answer; null: it leaves the decision to the next rule.")]
    decides: Annotated[bool, Meta(description="Whether it is the first rule with an answer.")]
    measured: Annotated[str, Meta(description="What it has measured, in words.")]


class SignatureResult(Part, frozen=True, kw_only=True):
    """What the scheme says of two signatures, whether its look-up finds them and its thresholds are reached or not."""

    scheme: Annotated[str, Meta(description="The scheme with its options.")]
    is_candidate: Annotated[bool, Meta(description="Whether a look-up of the new page finds the kept one.")]
    agree: Annotated[bool, Meta(description="Whether the texts agree by the scheme.")]
    distance: Annotated[int | None, Meta(description="Distance in bits; null: the scheme has none.")]
    resemblance: Annotated[float | None, Meta(description="Resemblance; null: the scheme does not measure it.")]
    coverage: Annotated[
        float | None,
        Meta(description="Share of the new text that the kept one has; null: the scheme does not measure it."),
    ]


class Lack(Part, frozen=True, kw_only=True):
    """A block of one page that the other page lacks."""

    kind: Annotated[str, Meta(description="What it is: `a fact`, `another name in a sentence` and so on.")]
    text: Annotated[
        str,
        Meta(description="Its text; of a sentence that the other page has with another number or name, only these."),
    ]
    letters: Annotated[int, Meta(description="Its size in letters.")]


class Comparison(Line, frozen=True, kw_only=True, tag="comparison"):
    """Two pages and how they agree, as `crawler-dedup compare --json` prints them."""

    new: Annotated[ComparedPage, Meta(description="The page that might be dropped.")]
    kept: Annotated[ComparedPage, Meta(description="The page that is kept.")]
    duplicate: Annotated[bool | None, Meta(description="Whether the new page would be dropped; null: not comparable.")]
    rule: Annotated[str | None, Meta(description="The rule that decides; null: not comparable.")]
    distance: Annotated[int | None, Meta(description="Distance of the signatures, in bits.")]
    resemblance: Annotated[float | None, Meta(description="Estimated resemblance.")]
    coverage: Annotated[float | None, Meta(description="Estimated share of the new page that the kept page covers.")]
    signatures: Annotated[
        SignatureResult | None,
        Meta(description="What the scheme says; null: the pages are not compared by main texts."),
    ]
    kept_lacks: Annotated[list[Lack], Meta(description="What the kept page lacks of the new page.")]
    new_lacks: Annotated[list[Lack], Meta(description="What the new page lacks of the kept page.")]
    same_links: Annotated[bool | None, Meta(description="Whether both have the same outlinks.")]
    snapshot: Annotated[
        int, Meta(description="Number of the snapshot of the new page's site that was used (--index); 0: none.")
    ]
    kept_snapshot: Annotated[int, Meta(description="Number of that of the kept page's site.")]
    rules: Annotated[list[RuleResult], Meta(description="All rules in their order.")]


class Passage(Part, frozen=True, kw_only=True):
    """A passage that a text and a page share. Only letters are counted."""

    start: Annotated[int, Meta(description="The letter of the text at which it begins.")]
    end: Annotated[int, Meta(description="The letter of the text before which it ends.")]
    at: Annotated[int, Meta(description="The letter of the page at which it begins.")]


class Source(Line, frozen=True, kw_only=True, tag="source"):
    """A kept page from which a text may have been copied, as `crawler-dedup trace --json` prints it."""

    url: Annotated[str, Meta(description="Address of the page.")]
    scope: Annotated[str, Meta(description="Its scope.")]
    share_of_text: Annotated[float, Meta(description="Share of the text that is in the page.")]
    share_of_page: Annotated[float, Meta(description="Share of the page that is in the text.")]
    passages: Annotated[list[Passage], Meta(description="The shared passages, in the order of the text.")]
