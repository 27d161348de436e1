from __future__ import annotations

from pathlib import Path

from crawler_dedup import Config, Deduplicator
from crawler_dedup.signing.features import normalise
from crawler_dedup.signing.lines import without_visits
from crawler_dedup.spiders.demo_site import DEMO_TEXTS

COUNTING = """123 views|1.2k views|1,234 views · 13 shares|Views: 1,234|12 comments|1 comment|Comments (5)
25 minutes ago|1 hour ago|5 min read|5-minute read|Reading time: 5 min|You are visitor 3813
visitor no. 3813|阅读(861) 评论(3)|阅读量：12万|浏览 123 次|123人浏览|3小时前|发布于25分钟前
阅读时间：5分钟|5分前|コメント 3件|3件のコメント|조회수 123|댓글 5|3시간 전|vor 3 Minuten
1.234 Aufrufe|12 Kommentare|5 Min. Lesezeit|Lesezeit: 5 Minuten|il y a 5 minutes|12 commentaires
4 minutes de lecture|hace 2 horas|12 comentarios|há 3 dias|2 giorni fa|12 commenti|5 minuten geleden
12 reacties|3 дня назад|345 просмотров|просмотров: 345|10 dakika önce|3 dage siden
for 3 dager siden|för 2 timmar sedan|5 komentarzy
2 godziny temu|12 تعليقات|منذ 3 أيام|120 مشاهدة"""
FACTS = """€ 59.95|4 May 2024|10:30|Answer 5|Review 2|Chapter 3|Page 3 of 7|3 points|10 years|20 minutes|5 mg
Room 12|4 bedrooms|Season 5|for 3 people
Guarantee for 5 years|Access for 30 days|vor 3 Personen|40 Stunden pro Woche|2 ore|第3章
关注2024年高考|下载3.2版|分享3个技巧
2024年5月4日|3天|120分钟|版本 1.2.3|3 дня|visits us at no. 5"""


def lines(of: str) -> list[str]:
    return [line for row in of.split("\n") for line in row.split("|")]


def test_a_phrase_that_counts_visits_leaves_no_number() -> None:
    assert [line for line in lines(COUNTING) if any(map(str.isdigit, without_visits(normalise(line))))] == []


def test_other_short_lines_with_numbers_stay_as_they_are() -> None:
    assert [line for line in lines(FACTS) if without_visits(normalise(line)) != normalise(line)] == []


def test_numbers_in_sentences_stay_and_lines_keep_their_places() -> None:
    sentence = "the society says that its garden had 3,000 visitors in the first week of may"
    assert without_visits(f"7 views\n{sentence}\n\n5 min read") == f"\n{sentence}\n\n"


def test_a_page_with_other_counts_is_a_duplicate_and_with_another_fact_it_is_not(tmp_path: Path) -> None:
    def page(line: str) -> bytes:
        article = DEMO_TEXTS.english[0]
        paragraphs = "".join(f"<p>{paragraph}</p>" for paragraph in article.paragraphs)
        return f"<title>{article.title}</title><h1>{article.title}</h1><p>{line}</p>{paragraphs}".encode()

    with Deduplicator.open(tmp_path, Config(tokenizer="bigrams")) as deduplicator:
        assert deduplicator.check("https://example.com/a", page("123 views · 4 comments · 3 minutes ago")).passes
        assert not deduplicator.check("https://example.com/b", page("148 views · 9 comments · 2 hours ago")).passes
