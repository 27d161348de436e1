"""Note the anchor texts of a page's links with the requests for their targets that its callback yields."""

from __future__ import annotations

from functools import cached_property

from scrapy.http import HtmlResponse, Request, Response

from crawler_dedup.config import Config
from crawler_dedup.crawl.text import tree_of
from crawler_dedup.signing.anchors import Anchors
from crawler_dedup.system.logs import logger_without_credentials

logger = logger_without_credentials(__name__)

_META_ANCHORS = "_dedup_anchors"


class AnchorNotes:
    """Notes the anchor texts of the links of *response* in the ``meta`` of the requests for their targets.

    The text, of a few hundred characters, is kept in ``meta`` because the request may be sent much later, after a restart.
    """

    def __init__(self, response: Response, config: Config) -> None:
        self._response = response
        self._config = config

    def note(self, request: Request) -> None:
        """Note the anchor texts for *request*, and remove those that were copied with the ``meta`` of its parent."""
        request.meta.pop(_META_ANCHORS, None)
        text = self._anchors.text_about(request.url) if self._anchors is not None else ""
        if text:
            request.meta[_META_ANCHORS] = text

    @cached_property
    def _anchors(self) -> Anchors | None:
        if not isinstance(self._response, HtmlResponse):
            return None
        try:
            tree = tree_of(self._response, self._config)
            return None if tree is None else Anchors(tree, self._response.url)
        except Exception:  # the requests go out in any case
            logger.warning("The links of %s cannot be read for their texts", self._response, exc_info=True)
            return None


def noted_anchors(request: Request) -> str:
    """Return the anchor texts that were noted with *request*; ``""`` if there are none."""
    text = request.meta.get(_META_ANCHORS, "")
    return text if isinstance(text, str) else ""
