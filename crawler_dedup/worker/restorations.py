"""The restored pages that wait for a crawl, in the overrides of its index."""

from __future__ import annotations

import msgspec

from crawler_dedup.decision import DroppedRequest
from crawler_dedup.index.index import Index
from crawler_dedup.index.overrides import Override
from crawler_dedup.worker.messages import EndRestorations


def list_waiting(index: Index, spider: str) -> dict[str, DroppedRequest]:
    """Return the requests of the restored pages that wait for a crawl of *spider*, by their addresses."""
    return {
        override.urls[0]: restoration.request
        for override in index.list_overrides()
        for restoration in override.restorations
        if restoration.spider == spider
    }


def end(index: Index, job: EndRestorations) -> dict[str, DroppedRequest]:
    """End restorations in one transaction, and return those of pages that have failed too often."""
    given_up: dict[str, bool] = {}

    def end_in(override: Override) -> Override:
        url = override.urls[0]
        if url not in job.failures:
            return override
        remaining = []
        for restoration in override.restorations:
            # A person may have restored another request meanwhile.
            if (restoration.spider, restoration.request) == (job.spider, job.requests.get(url)):
                # Another crawl may have counted a failure meanwhile.
                failures = job.failures[url] and job.failures[url] + restoration.failures
                given_up[url] = failures >= job.limit
                if not failures or given_up[url]:
                    continue
                restoration = msgspec.structs.replace(restoration, failures=failures)  # noqa: PLW2901
            remaining.append(restoration)
        return msgspec.structs.replace(override, restorations=tuple(remaining))

    index.change_overrides(end_in)
    return {url: job.requests[url] for url, is_given_up in given_up.items() if is_given_up}
