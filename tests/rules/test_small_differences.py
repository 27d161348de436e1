"""Small differences that make two pages, in whole sentences of several languages: the second page is not lost."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from crawler_dedup import Config, Deduplicator
from tests.support.crawling import paragraphs, words
from tests.support.prose import sentences
from tests.support.sitepages import MENU, SITE, Crawl, page

NAME = "Notes from the harbour"
SHORT, LONGER = paragraphs(words("harbour", 60)), paragraphs(words("harbour", 400))


def text(*parts: str) -> str:
    body = "".join(part if part.startswith("<") else f"<p>{part}</p>" for part in parts)
    return page(f"{NAME} | {SITE}", f"<article><h1>{NAME}</h1>{body}</article>", MENU)


def is_dropped(kept: str, new: str, *crawls: Crawl) -> bool:
    """Return whether *new*, of the last of *crawls*, is dropped after *kept*, of the first."""
    assert crawls[0].check("/kept", kept).passes
    return not crawls[-1].check("/new", new).passes


NAMES = {
    "You will join our team in {}, where forty colleagues load vehicles by day and by night.": ("Leeds", "Hull"),
    "The chair of the board, {}, told the members that the accounts were in order.": ("Dr. Keller", "Dr. Hansen"),
    "The fault affects all devices of the series “{}” that were sold in spring this year.": ("Kestrel", "Merlin"),
    "Sie verstärken unser Lager in {}, in dem vierzig Kollegen bei Tag und Nacht arbeiten.": ("Graz", "Brünn"),
    "Am Montag sagte die Vorsitzende {} vor den Mitgliedern, dass die Rechnung stimmt.": ("Eva Moser", "Ida Falk"),
    "Wer ein Gerät der Reihe „{}“ hat, das im Frühling gekauft wurde, bekommt ein neues.": ("Milan", "Bussard"),
    "Das neue Schiff fährt vom Sommer an jeden Morgen von hier nach {} und am Abend zurück.": ("Wedel", "Stade"),
    "Вы будете работать на складе в городе {}, где сорок человек днём и ночью грузят машины.": ("Омск", "Пермь"),
    "Вчера вечером председатель {} объявила участникам собрания, что отчёт принят.": ("Анна Белова", "Ольга Рыкова"),
    "Все приборы серии «{}», которые были проданы весной, завод меняет без всякой доплаты.": ("Сокол", "Беркут"),
    "С начала лета новый теплоход каждое утро идёт отсюда до пристани {} и вечером обратно.": ("Кижи", "Валаам"),
}
DENIALS = {
    "The court has ruled that the owners {} pay for the wall that the town has planned.": ("must", "must not"),
    "The owners have said that they {} pay for the wall which the town plans.": ("will", "won't"),
    "The harbour office says that visitors may {} tie up their boats at the eastern quay.": ("still", "never"),
    "The report says that {} of the pipes below the pumping station had to be replaced.": ("some", "none"),
    "Das Gericht hat entschieden, dass die Eigentümer die neue Mauer {} zahlen müssen.": ("selbst", "nicht"),
    "Die Stadt teilt mit, dass Anwohner am Ufer im Sommer {} Hunde frei laufen lassen dürfen.": ("ihre", "keine"),
    "Der Wirt sagte vor dem Ausschuss, er habe die Rechnung {} gesehen und bezahlt.": ("sofort", "nie"),
    "An der Führung durch das alte Kraftwerk am Fluss nahm in diesem Jahr {} teil.": ("jeder", "niemand"),
    "Суд решил, что владельцы домов у реки {} должны платить за новую стену и за её ремонт.": ("сами", "не"),
    "В отчёте сказано, что у завода на берегу {} разрешения на сброс воды в реку и каналы.": ("есть", "нет"),
    "Жильцам дома на набережной {} ставить машины во дворе, сообщил представитель управы.": ("можно", "нельзя"),
    "{} ставьте машину во дворе дома, если на улице перед школой ещё есть свободное место.": ("Вы", "Не"),
    "市政府昨日发布公告称，居民今后{}可以在河边的草地上放养犬只，违者将受到相应的处罚。": ("", "不"),
    "调查组在报告中说明，这家工厂{}取得向河道排放废水的许可证件，材料已移交检察机关。": ("已经", "没有"),
    "通知里写道，去年报名参加植树活动的单位{}领取树苗，管理处已经逐一作出登记和说明。": ("均已", "均未"),
    "医生在复诊记录里写道，患者对这种新的药物{}明显的过敏反应，可以按照原来的剂量服用。": ("有", "无"),
}


@pytest.mark.parametrize(("crawl", "others"), [(False, 40), (True, 0)], indirect=["crawl"])
@pytest.mark.parametrize(("sentence", "values"), [*NAMES.items(), *DENIALS.items()])
def test_another_name_or_denial_inside_a_sentence_is_not_lost(
    crawl: Crawl, others: int, sentence: str, values: tuple[str, str]
) -> None:
    around = [" ".join(words(other, 30)).capitalize() + "." for other in range(others)]
    kept, new = (text(SHORT, *around[:20], sentence.format(value), *around[20:]) for value in values)
    assert not is_dropped(kept, new, crawl)


@pytest.mark.parametrize("sentence", [sentence for sentence in DENIALS if not sentence.startswith("{}")])
def test_a_sentence_that_no_longer_denies_is_not_lost(crawl: Crawl, sentence: str) -> None:
    crawl.get_known()
    kept, new = (text(SHORT, sentence.format(value)) for value in reversed(DENIALS[sentence]))
    assert not is_dropped(kept, new, crawl)


@pytest.mark.parametrize("count", [20, 40, 80, 160])
def test_a_paragraph_that_was_added_is_not_lost(crawl: Crawl, mirror: Crawl, count: int) -> None:
    """Not on a known mirror either."""
    crawl.get_known()
    mirror.get_known()
    added = " ".join(words("added", count)).capitalize() + "."
    assert not is_dropped(text(LONGER), text(SHORT, LONGER.removeprefix(SHORT), added), crawl, mirror)


# A property

LINES = [sentences(seed)[0].strip() for seed in range(8)]
PARTS = st.lists(
    st.sampled_from([*LINES, "Leith", "Hull", "€ 45.90", "<h2>Where it is</h2>", "<ul><li>full time</li></ul>"]),
    max_size=5,
)
ADDED = [
    "Ghent",
    "€ 59.95",
    "<h2>When it is</h2>",
    "<table><tr><td>Bergen</td></tr></table>",
    *("".join(sentences(8, count)).strip() for count in (1, 3, 9)),
]


# Two words of the added sentence have, by chance, two of the smallest hashes of the first one: it looks like its edit.
@example(
    kept=2 * ["Jerseys hearings dissemination miriam exhibited, shredder couture nigerian sublime slept."],
    new=2 * ["Tiff smiles relocating ancillary pace dundee, enriched watched sharpe mustard palau maven."],
    added="Ordination fragrances bolts aliases, charters portraits registers wondered.",
    at=1,
    host="m",
)
@given(kept=PARTS, new=PARTS, added=st.sampled_from(ADDED), at=st.integers(0, 5), host=st.sampled_from("hm"))
def test_a_block_that_is_added_to_a_different_page_makes_no_duplicate_of_it(
    tmp_path_factory: pytest.TempPathFactory, kept: list[str], new: list[str], added: str, at: int, host: str
) -> None:
    with Deduplicator.open(tmp_path_factory.getbasetemp() / "added", Config(tokenizer="bigrams", fresh=True)) as opened:
        pages = [
            opened.sign(f"http://{host if number else 'h'}/{number}", text(LONGER, *parts).encode())
            for number, parts in enumerate((kept, new, [*new[:at], added, *new[at:]]))
        ]
        assume(opened.compare(pages[1], pages[0]) is None)
        assert opened.compare(pages[2], pages[0]) is None
