"""Features → their summary in a :class:`SignedPage`: number, sketch and digest."""

from __future__ import annotations

import msgspec

from crawler_dedup.signedpage import PageKind, Signature, SignedPage
from crawler_dedup.signing.features import Features
from crawler_dedup.signing.sketch import set_digest, sketch


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
