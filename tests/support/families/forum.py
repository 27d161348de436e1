"""Threads of a forum, and the addresses of their posts."""

from dataclasses import replace

from tests.support.families.cases import Case, Family, duplicate, new, part_and_whole
from tests.support.families.pages import Page, link, pager, post, read_posts, sites, ul
from tests.support.families.prose import heading, paragraph

LOOM, ZHIBO = sites("forum")
LOOM = replace(LOOM, side=f"{LOOM.side}<section><h3>House rules</h3><p>{paragraph('rules', 3)}</p></section>")

_QUESTION = post("Marta", "3 May 2024, 09:12", paragraph("question", 3))
_ANSWERS = (
    post("old_heddle", "3 May 2024, 11:40", paragraph("answers", 3)),
    post("Birgit", "3 May 2024, 18:05", paragraph("answers 2", 3)),
    post("Marta", "4 May 2024, 07:58", paragraph("answers 4", 2)),
    post("threadbare", "6 May 2024, 21:30", paragraph("answers 3", 2)),
)
_SECOND_PAGE = (
    post("Ines", "19 May 2024, 10:00", paragraph("second page", 2)),
    post("old_heddle", "19 May 2024, 12:21", paragraph("second page 2", 3)),
    post("Ines", "26 May 2024, 16:44", paragraph("second page 3", 2)),
)
_TITLE = "Warp slack on the left side"


def _thread(path: str, title: str, *posts: str, head: str | None = None) -> Page:
    return LOOM.page(path, title, *posts, pager("/t/118", 2), crumbs=("Boards", "Looms"), head=head)


_FIRST = _thread("/t/118", _TITLE, _QUESTION, *_ANSWERS)
_NEXT = _thread("/t/118?page=2", _TITLE, *_SECOND_PAGE)
_SINGLE = LOOM.page(
    "/post/5512", "Post 3 of 5", _ANSWERS[1], link("/t/118", "Show the thread"), head=f"{_TITLE} – {LOOM.name}"
)


def _hello(number: int, author: str, text: str) -> Page:
    return _thread(f"/t/{number}", "Hello from a new member", post(author, "1 June 2024, 08:00", text))


_LOST = (
    "Does anybody have the threading draft that came with the old Kessler rigid heddle loom? The leaflet was green. "
)

_ZH_TITLE = "新买的壶漏水怎么办"
_ZH_QUESTION = post("听雨", "2024-05-03 09:12", paragraph("question", 3, "zh"))
_ZH_ANSWERS = read_posts("answers about a pot")
_ZH_SECOND = read_posts("repaired pots")


def _zh_thread(path: str, *posts: str) -> Page:
    return ZHIBO.page(path, _ZH_TITLE, *posts, pager("/t/77", 2), crumbs=("版块", "紫砂"))


# fmt: off
_CASES: tuple[Case, ...] = (
    new("second page of a thread", _FIRST, _NEXT, "It has other posts under the same title."),
    new("first page of a thread after the second", _NEXT, _FIRST, "It has other posts under the same title."),
    duplicate("newest posts first", _FIRST, _thread("/t/118?order=desc", _TITLE, *reversed(_ANSWERS), _QUESTION),
        "It has the same posts in another order."),
    duplicate("address of a post that shows its thread", _FIRST,
        _thread("/t/118?post=5512", _TITLE, _QUESTION, *_ANSWERS, head=f"{_TITLE} – {LOOM.name}"),
        "It is the thread once more."),
    *part_and_whole("a post alone and its thread", _SINGLE, _FIRST, "The thread has the post and more."),
    *part_and_whole("a thread before and after two answers",
        _thread("/t/118?view=unread", _TITLE, _QUESTION, *_ANSWERS[:2]), _FIRST,
        "The later state has all posts of the earlier one, and more."),
    new("a question asked on two boards",
        _thread("/t/300", "Kessler threading draft", post("Jo", "2 May 2024", _LOST * 2), _ANSWERS[3]),
        _thread("/t/311", "Kessler threading draft", post("Jo", "4 May 2024", _LOST * 2), _SECOND_PAGE[1]),
        "The answers differ."),
    new("two members say hello",
        _hello(401, "Piotr",
            "I weave blankets for horses near Poznań, on a loom that my grandfather made from a fence."),
        _hello(402, "Aoife",
            "Tablet weaving since school, mostly belts, and I am looking for people in Galway to dye with."),
        "Two short posts under one title, beside long house rules."),
    new("a thread and its board", _FIRST,
        LOOM.page("/looms/", "Looms",
            ul(*[link(f"/t/{number}", heading(f"board {number}")) for number in range(110, 140)]),
            ul(f"{link('/t/118', _TITLE)} My warp loses tension on the left after about thirty centimetres.")),
        "Its links lead to thirty threads."),
    new("第二页", _zh_thread("/t/77", _ZH_QUESTION, *_ZH_ANSWERS), _zh_thread("/t/77?page=2", *_ZH_SECOND),
        "The second page of a Chinese thread has other posts."),
    *part_and_whole("只看楼主", _zh_thread("/t/77?author=1", _ZH_QUESTION, _ZH_ANSWERS[1]),
        _zh_thread("/t/77", _ZH_QUESTION, *_ZH_ANSWERS),
        "The thread has the posts of its first author and those of others."),
)
# fmt: on


def _make_other_pages() -> list[Page]:
    pages = []
    for number in range(24):
        posts = [
            post(f"member{number + at}", f"{at + 1} April 2024", paragraph(f"thread {number} {at}", 2))
            for at in range(4)
        ]
        pages.append(LOOM.page(f"/t/{500 + number}", heading(f"thread {number}"), *posts, crumbs=("Boards", "Looms")))
    for number in range(20):
        posts = [post(f"会员{at}", f"2024-04-0{at + 1}", paragraph(f"主题 {number} {at}", 2, "zh")) for at in range(4)]
        pages.append(ZHIBO.page(f"/t/{500 + number}", heading(f"主题 {number}", "zh"), *posts, crumbs=("版块", "紫砂")))
    return pages


FORUM = Family("forum", _CASES, _make_other_pages)
