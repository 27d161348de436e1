from hypothesis import given
from hypothesis import strategies as st

from crawler_dedup.signing.titles import find_identifiers, split_title, titles_agree
from tests.support.cases import read_cases

CASES = read_cases(__file__)["titles"]

# Parts


def test_the_parts_of_a_title_stand_between_separators() -> None:
    for title, parts in CASES["parts"]:
        assert split_title(title) == {*parts}


@given(st.text())
def test_parts_are_letters_and_digits_in_one_case(title: str) -> None:
    for part in split_title(title):
        assert part
        plain = part.replace("!=", "=").replace("!>", ">")
        assert not any(char.isspace() or char in "|_()[]【】《》「」,.!?" for char in plain)
    assert split_title(f" {title} ") == split_title(title)


SEPARATORS = st.sampled_from(
    [*"|_｜—", *(f" {mark} " for mark in ("-", "–", "—", "·", "•", "»", "›", "::", "/")), "——"]
)


@given(st.lists(st.text("abc茶", min_size=1), max_size=4), SEPARATORS)
def test_the_order_of_parts_and_their_separator_do_not_matter(names: list[str], separator: str) -> None:
    assert split_title(separator.join(names)) == split_title(" | ".join(reversed(names))) == set(names)


# Agreement

A, B, SITE = "steeping", "brewing", "teabytheriver"
SHARED = "ahouseforteabytheriver"
START = "aratherlongtitleofanarticle"


def test_titles_agree_if_they_can_name_one_page() -> None:
    for new, kept, known, site_not_known in [
        ({A}, {B}, False, False),
        ({A, SITE}, {B, SITE}, False, False),
        ({A, SITE}, {A}, False, False),
        # On a site that is not known a long part that both have is hardly the site's name
        ({A, SHARED}, {B, SHARED}, False, True),
        ({A, SHARED}, {SHARED}, False, True),
        ({SHARED}, {A, SHARED}, False, True),
        ({A, "河边一座安静的老茶馆"}, {B, "河边一座安静的老茶馆"}, False, True),
        ({A, "老茶馆"}, {B, "老茶馆"}, False, False),
        ({A, SITE}, {B, "another"}, False, False),
        # Without a name
        (set(), set(), False, False),
        ({A}, set(), False, False),
        (set(), {A}, False, False),
        # Cut off
        ({START + "…"}, {START + "thatgoeson"}, True, True),
        ({START + "thatgoeson"}, {START + "…"}, True, True),
        ({START + "…", SITE}, {START + "thatgoeson"}, True, True),
        ({START}, {START + "thatgoeson"}, False, False),
        ({"lecture1"}, {"lecture12"}, False, False),
        ({START[:15] + "…"}, {START}, True, True),
        ({START[:14] + "…"}, {START}, False, False),
        ({START + "…"}, {"x" + START}, False, False),
    ]:
        assert titles_agree(new, kept, own_parts=True) is known
        assert titles_agree(new, kept, own_parts=False) is site_not_known


NAMES = st.frozensets(st.text("ab", min_size=1, max_size=25), min_size=1, max_size=4)


@given(NAMES, st.booleans())
def test_every_title_agrees_with_itself(title: frozenset[str], known: bool) -> None:
    assert titles_agree(title, title, own_parts=known)


@given(NAMES.filter(bool), NAMES.filter(bool), st.booleans())
def test_titles_with_names_agree_in_both_ways(first: frozenset[str], second: frozenset[str], known: bool) -> None:
    assert titles_agree(first, second, own_parts=known) is titles_agree(second, first, own_parts=known)


@given(NAMES, NAMES)
def test_titles_that_agree_on_a_known_site_agree_without_it(new: frozenset[str], kept: frozenset[str]) -> None:
    assert titles_agree(new, kept, own_parts=False) or not titles_agree(new, kept, own_parts=True)


def test_what_follows_the_first_200_characters_of_a_title_is_not_compared() -> None:
    assert split_title("a" * 200 + "b" * 300) == split_title("a" * 200)
    assert len("".join(split_title("a" * 150 + "\u0301" * 10_000))) < 200


# Identifiers


def test_identifiers_are_names_with_underscores() -> None:
    for title, identifiers in CASES["identifiers"]:
        assert find_identifiers(title) == {*identifiers}
