"""Sign the pages of a crawl, and read their forms from the same tree."""

from __future__ import annotations

from crawler_dedup.errors import BeyondLimits
from crawler_dedup.signing.forms import FormReader
from crawler_dedup.signing.messages import Answer, SignJob
from crawler_dedup.signing.signer import Signer


class CrawlSigner:
    """Signs the pages of a crawl in its signing process, or on its event loop."""

    def __init__(self, signer: Signer) -> None:
        self._signer = signer
        self._forms = FormReader()

    def sign(self, job: SignJob, body: bytes) -> Answer:
        """Answer *job* with the signed page and its forms."""
        try:
            tree = self._signer.parse(body, job.encoding)
        except BeyondLimits:
            tree = None  # the page is refused below, with the reason
        page, _ = self._signer.sign(job.url, body, tree, encoding=job.encoding, key=job.key, scope=job.scope)
        return Answer(page, () if tree is None or page.unsigned else self._forms.read(page, tree))
