"""Kept pages that differ by nothing but facts are reported, and nothing is dropped because of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from lxml.html import document_fromstring

from crawler_dedup import Config
from crawler_dedup.crawl.forms import LIMIT, MAX_BLOCKS, MAX_FORMS, Forms, FormUse
from crawler_dedup.signing.signer import Signer
from crawler_dedup.system.extras import has_extra
from tests.support.commandline import command
from tests.support.crawling import WALK, Answer, Site, article, html, run_script, words

NOT_FOUND = (
    "<title>Page not found</title><h1>Sorry</h1><p>The page {path} does not exist any more. Perhaps it was moved or renamed."
    " Use the menu or the search to find what you need, or write to our team, who will be glad to help you further.</p>"
    "<a href=/>Home</a>"
)
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November"]
Page = Callable[[int], tuple[str, str]]


def calendar(number: int) -> tuple[str, str]:
    year, month = 1990 + number // 11, number % 11
    days = "".join(f"<td>{day}</td>" for day in range(1, 29 + number % 3))
    return f"/calendar/{year}/{month + 1}", (
        f"<title>{MONTHS[month]} {year}</title><nav><a href=/>Home</a></nav><h1>Events in {MONTHS[month]} {year}</h1>"
        f"<p>There is nothing on the programme of our house for this month. Please look at the months before and after it,"
        f" or subscribe to the newsletter of our house, which comes on the first Monday of each month.</p>"
        f"<table><tr>{days}</table><a href='/calendar/{year}/{month + 2}'>{MONTHS[(month + 1) % 11]}</a>"
    )


def bare_calendar(number: int) -> tuple[str, str]:
    year, month = 1990 + number // 11, number % 11
    days = "".join(f"<td><a href='/{year}/{month}/{day}'>{day}</a></td>" for day in range(1, 29 + number % 3))
    return f"/bare/{year}-{month + 1}", f"<title>{MONTHS[month]} {year}</title><table><tr>{days}</table>"


def soft_404(number: int) -> tuple[str, str]:
    path = "/".join(["", *words(number, 1 + number % 4), ""])
    return path, NOT_FOUND.format(path=path)


def search(number: int) -> tuple[str, str]:
    first, second = words(number, 2)
    text = (
        f"Nothing was found for <b>{first.title()} {second}</b> in our shop. Try it with fewer words, or with others."
    )
    return f"/search?q={first}+{second}&sort=1", f"<title>{first} {second}</title><p>{text}<a href=/>Home</a>"


def articles(number: int) -> tuple[str, str]:
    return f"/articles/{number}", article(number)


def short_texts(number: int) -> tuple[str, str]:
    return f"/notes/{number}", f"<title>Note</title><nav><a href=/>Home</a></nav><p>{' '.join(words(number, 30))}</p>"


def lists(number: int) -> tuple[str, str]:
    links = "".join(
        f"<li><a href='/a/{link}'>{' '.join(words(link % 150, 5))}</a>" for link in range(number, number + 20)
    )
    return f"/page/{number}", f"<title>Page {number}</title><h1>All articles, page {number}</h1><ul>{links}</ul>"


def reported(page: Page, pages: int = 3 * LIMIT) -> list[tuple[int, FormUse]]:
    """Return at which page which form is reported."""
    forms, signer, reports = Forms(), Signer(Config(tokenizer="bigrams")), []
    for number in range(pages):
        path, body = page(number)
        url = f"http://site{path}"
        signed, _ = signer.sign(url, body.encode(), encoding="utf-8", key=None, scope="")
        if forms.may_differ_by_facts_only(signed) and (form := forms.add(url, document_fromstring(body))):
            reports.append((number + 1, form))
    return reports


@pytest.mark.parametrize(
    ("page", "path"),
    [
        (calendar, "http://site/calendar/"),
        (bare_calendar, "http://site/bare/"),
        (soft_404, "http://site/"),
        (search, "http://site/"),
    ],
)
def test_a_form_is_reported_once_with_its_path_and_number(page: Page, path: str) -> None:
    ((number, form),) = reported(page)
    assert LIMIT <= number <= LIMIT + 5
    assert form.path == path
    assert form.count >= 3 * LIMIT - 5
    assert len(form.examples) == 3


@pytest.mark.parametrize("page", [articles, short_texts, lists])
def test_pages_with_content_of_their_own_are_not_reported(page: Page) -> None:
    assert reported(page) == []


def test_pages_of_different_hosts_have_different_forms() -> None:
    forms = Forms()
    tree = document_fromstring(NOT_FOUND.format(path="/x"))
    assert not any(forms.add(f"http://site{number % 4}/x", tree) for number in range(4 * LIMIT - 4))
    assert forms.add("http://site0/x", tree) is not None


def test_what_is_remembered_is_bounded() -> None:
    forms, signer = Forms(), Signer(Config(tokenizer="bigrams"))
    rows = "".join(f"<p>{{0}} row {number} of {{0}}</p>" for number in range(400))
    for number in range(MAX_BLOCKS // 400 + 50):
        body = f"<title>x</title>{rows.format(''.join(words(number, 1)))}"
        forms.may_differ_by_facts_only(
            signer.sign(f"http://h/{number}", body.encode(), encoding=None, key=None, scope="")[0]
        )
    for number in range(MAX_FORMS + 50):
        forms.add(f"http://h{number}/", document_fromstring("<p>The same text"))
    assert len(forms._blocks) <= MAX_BLOCKS
    assert len(forms._uses) <= MAX_FORMS


def test_a_crawl_warns_once_keeps_all_pages_and_its_report_names_path_and_number(tmp_path: Path) -> None:
    pages: dict[str, Answer] = {path: html(body) for path, body in map(soft_404, range(LIMIT + 40))}
    with Site(pages) as site:
        crawl = run_script(tmp_path, WALK, {"DEDUP_SCOPE": "global"}, site=site.url, paths=list(pages))
    assert len(crawl.items) == len(pages)
    assert crawl.counts()["forms"] == 1
    (line,) = crawl.lines("WARNING", "")
    assert f"{LIMIT} kept pages below {site.url}/ differ by nothing but numbers, dates or parts" in line
    (journal,) = (tmp_path / "index").glob("journal-*.jsonl")
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [line["count"] for line in lines if line["event"] == "form"] == [LIMIT, len(pages)]
    if has_extra("report"):
        assert command(tmp_path, "report", "index").returncode == 0
        report = (tmp_path / "report.html").read_text()
        section = report.partition("Kept pages that differ by nothing but facts")[2].partition("</section>")[0]
        assert f'<span class="big">{len(pages)}</span> pages below' in section
        assert f"{site.url}/" in section
        assert "Page not found" in section
