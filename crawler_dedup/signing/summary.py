"""Features → their summary in a :class:`SignedPage`: number, sketch and digest, and the same of the shown features."""

from __future__ import annotations

import re

import msgspec

from crawler_dedup.signedpage import PageKind, Shown, Signature, SignedPage
from crawler_dedup.signing.features import Features
from crawler_dedup.signing.native import replaceable
from crawler_dedup.signing.sketch import set_digest, sketch
from crawler_dedup.signing.text import hash_words
from crawler_dedup.signing.visits import without_visits

# With the signs between their digits, and with letters after them: one date or version differs from another in a part of
# it, and room 12a is not 12b.
_NUMBERS = re.compile(r"\d[\da-z]*(?:[.,:/-]\d[\da-z]*)*")


def with_signature(page: SignedPage, signature: Signature, features: Features) -> SignedPage:
    """Return *page* with its signature and a summary of the features that it is compared by."""
    content = features.content
    return msgspec.structs.replace(
        page,
        kind=PageKind.TEXT,
        signature=signature.number,
        value=signature.value,
        features=len(content),
        sketch=sketch(content),
        feature_digest=set_digest(content),
    )


def with_shown(page: SignedPage, features: Features, numbers: bytes) -> SignedPage:
    """Return *page* with a summary of the *features* and the *numbers* (a sketch) that it shows, if it hides any that are
    not shown elsewhere."""
    content = features.content
    shown = Shown(len(content), sketch(content), set_digest(content), numbers)
    return page if shown == page.shown else msgspec.structs.replace(page, partly_hidden=shown)


@replaceable(revision=3)
def sketch_numbers(plain: str) -> bytes:
    """Sketch the set of the numbers in a normalised text that count no visits; a date or a version is a single number."""
    return sketch(hash_words(_NUMBERS.findall(without_visits(plain).replace("–", "-"))))
