"""Read and change what the index has of restored pages: pages whose drop was wrong, which a crawl requests again."""

from __future__ import annotations

import time

import msgspec

from crawler_dedup.index.index import Index
from crawler_dedup.index.overrides import Override, make_override
from crawler_dedup.worker.messages import EndRestorations, KeepAddress, ListRestorations, RestoredRequests


def answer(index: Index, job: ListRestorations | EndRestorations | KeepAddress) -> RestoredRequests | bool:
    """Do *job*, and return the result."""
    if isinstance(job, ListRestorations):
        return _list_restorations(index, job)
    if isinstance(job, EndRestorations):
        return _end_restorations(index, job)
    return bool(index.add_overrides([make_override("keep", [job.url], int(time.time()))]))


def _list_restorations(index: Index, job: ListRestorations) -> RestoredRequests:
    return RestoredRequests(
        {
            override.urls[0]: restoration.request
            for override in index.list_overrides()
            for restoration in override.restorations
            if restoration.spider == job.spider
        }
    )


def _end_restorations(index: Index, job: EndRestorations) -> RestoredRequests:
    """End restorations in one transaction, and return those of pages that have failed too often."""
    given_up: dict[str, bool] = {}

    def end(override: Override) -> Override:
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

    index.change_overrides(end)
    return RestoredRequests({url: job.requests[url] for url, is_given_up in given_up.items() if is_given_up})
