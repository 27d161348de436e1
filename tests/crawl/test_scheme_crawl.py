"""Real crawls with other schemes than simhash: what is dropped, counted and logged, and what stops them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from tests.support.chinese import chinese, with_homophones
from tests.support.crawling import WALK, Crawl, Site, article, html, run_scrapy, start_script
from tests.support.projects import ADDON, PAGES, index_of, project
from tests.support.versions import HAS_EXIT_STATUS

SCHEMES = {  # how the log calls them
    "simhash": "simhash, distance 7",
    "minhash": "minhash",
    "winnowing": "winnowing",
}


def tea(text: str, frame: str = "") -> str:
    paragraphs = "".join(f"<p>{line}</p>" for line in text.split("\n"))
    return f"<html><head><title>茶馆</title></head><body><nav>{frame}</nav><main>{paragraphs}</main></body></html>"


def untitled(page: str) -> str:
    """Return a page without title and heading, because pages are also found by these."""
    return page.replace("title>", "b>").replace("h1>", "p>")


SITE = {
    "/0": html(article(0)),
    "/0-copy": html(article(0, frame="copy")),
    "/1": html(untitled(article(1))),
    "/1-changed": html(untitled(article(1, changed=2))),
    "/2": html(article(2)),
    "/tea": html(tea(chinese(0))),
    "/tea-copy": html(tea(chinese(0), "copy")),
    "/tea-homophones": html(tea(with_homophones(chinese(0)))),
    "/train": html(tea(chinese(1))),
}
COPIES = {"/0-copy": "/0", "/tea-copy": "/tea"}
DROPPED = {
    "simhash": COPIES,  # two words of 160 are 8 bits here
    "minhash": {**COPIES, "/1-changed": "/1"},
    "winnowing": {**COPIES, "/1-changed": "/1"},
}

Runs = Mapping[str, tuple[Crawl, Crawl]]


def crawl_all(directory: Path, site: Site, paths: Iterable[str]) -> list[Crawl]:
    """Crawl with each scheme, all crawls at once."""
    started = [
        start_script(directory / f"{number}", WALK, {"DEDUP_SCHEME": scheme}, site=site.url, paths=[*paths])
        for number, scheme in enumerate(SCHEMES)
    ]
    return [crawl for running_crawl in started for crawl in running_crawl.results().values()]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Return two crawls into the same index; in the second only the copies have other addresses."""
    directory = tmp_path_factory.mktemp("schemes")
    other_addresses = {f"{path}?again": answer for path, answer in SITE.items() if path in COPIES}
    with Site({**SITE, **other_addresses}) as site:
        first = crawl_all(directory, site, SITE)
        second = crawl_all(directory, site, [*(path for path in SITE if path not in COPIES), *other_addresses])
    return dict(zip(SCHEMES, zip(first, second, strict=True), strict=True))


def path_of(url: str) -> str:
    return "/" + url.split("/", 3)[3]


def dropped(crawl: Crawl) -> dict[str, str]:
    assert all(drop["verdict"] == "duplicate" for drop in crawl.drops)
    return {path_of(drop["url"]): path_of(drop["duplicate_of"]) for drop in crawl.drops}


@pytest.fixture(params=SCHEMES)
def scheme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_duplicates_are_dropped_and_all_other_pages_arrive(runs: Runs, scheme: str) -> None:
    crawl, _ = runs[scheme]
    assert dropped(crawl) == DROPPED[scheme]
    assert crawl.paths() == [path for path in SITE if path not in DROPPED[scheme]]
    assert {note["path"] for note in crawl.notes} == set(DROPPED[scheme])
    assert {note["error"] for note in crawl.notes} == {"NearDuplicate"}


def test_the_statistics_add_up(runs: Runs, scheme: str) -> None:
    counts = runs[scheme][0].counts()
    dropped_count = len(DROPPED[scheme])
    assert (counts["checked"], counts["kept"], counts["dropped"]) == (
        len(SITE),
        len(SITE) - dropped_count,
        dropped_count,
    )
    assert counts["bytes_dropped"] == sum(len(SITE[path].body) for path in DROPPED[scheme])
    assert not counts["unchecked"]
    assert not any(name.startswith("error/") for name in counts)


def test_distances_are_counted_if_the_scheme_has_distances(runs: Runs, scheme: str) -> None:
    for crawl in runs[scheme]:
        distances = crawl.counts("distance/")
        assert distances == (Counter({"0": 2}) if scheme == "simhash" else Counter())
        assert {drop["match"]["distance"] for drop in crawl.drops} == ({0} if scheme == "simhash" else {None})
        assert all(0.6 < drop["match"]["resemblance"] <= 1 for drop in crawl.drops)
        assert all(0.8 < drop["match"]["coverage"] <= 1 for drop in crawl.drops)


def test_the_log_names_the_scheme(runs: Runs, scheme: str) -> None:
    for crawl, pages in zip(runs[scheme], (0, len(SITE) - len(DROPPED[scheme])), strict=True):
        (line,) = crawl.lines("INFO", "Near-duplicate filter: index ")
        assert f" holds {pages} pages; " in line
        assert f", scheme {SCHEMES[scheme]}, tokenizer bigrams, scope spider, action drop" in line
        assert crawl.lines("WARNING", "") == crawl.lines("ERROR", "") == []


def test_a_second_run_passes_kept_pages_and_drops_their_copies(runs: Runs, scheme: str) -> None:
    _, crawl = runs[scheme]
    still = {path: kept for path, kept in DROPPED[scheme].items() if path not in COPIES}
    assert dropped(crawl) == {**still, **{f"{path}?again": kept for path, kept in COPIES.items()}}
    counts = crawl.counts()
    assert counts["unchanged"] == len(SITE) - len(COPIES) - len(still)
    assert (counts["kept"], counts["dropped"]) == (0, len(COPIES) + len(still))
    assert {item["verdict"] for item in crawl.items} == {"unchanged"}


# More tables


# What stops a crawl


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"DEDUP_SCHEME": "nosuch"}, "There is no scheme 'nosuch'; there are simhash, exact, shingling,"),
        ({"DEDUP_SCHEME": "minhash threshold=7"}, "threshold=7 is not allowed; the scheme minhash takes threshold ="),
        (
            {"DEDUP_SCHEME": "simhash tables=10"},
            "DEDUP_MAX_DISTANCE = 7 is not allowed with the scheme simhash tables=10; 10 tables find 0 to 3.",
        ),
        ({"DEDUP_SCHEME": "imatch lexicon=none"}, "The lexicon none cannot be read: "),
    ],
    ids=["no such scheme", "no such value", "too large a distance", "no such lexicon"],
)
def test_a_scheme_that_cannot_be_used_stops_the_crawl_before_the_first_request(
    tmp_path: Path, settings: dict[str, str], sentence: str
) -> None:
    lines = [f"{name} = {value!r}\n" for name, value in settings.items()]
    with Site(PAGES) as site:
        done = run_scrapy(project(tmp_path, site, ADDON + "".join(lines)), "crawl", "project")
        assert site.asked == []
    assert sentence in done.stdout
    assert done.returncode == 1 or not HAS_EXIT_STATUS
    assert "Near-duplicate filter" not in done.stdout
    assert not (index_of(tmp_path) / "data.mdb").exists()
