"""Addresses without user names and passwords, which never leave the process."""

import string
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crawler_dedup.inspection.journals import is_of_host
from crawler_dedup.urls import (
    host_of,
    identifier_without_credentials,
    registered_domain,
    text_without_credentials,
    without_credentials,
)
from tests.support.examples import examples

EXAMPLES = examples(200)

INNOCENT = (
    "https://example.com/@user/post",
    "https://example.com/a//b@c",
    "https://example.com/a:b@c",
    "https://example.com/maps/@52.5,13.4,15z/data=!3m1!4b1",
    "https://example.com/?mail=me@x.org&time=12:30",
    "https://example.com?time=12:30&mail=me@x.org",
    "https://example.com/#time=12:30@x",
    "https://example.com/share?url=http://x.org&via=@me",
    "https://example.com/share?urls=http://x.org,http://y.org/@me",
    "https://example.com/share?app=player://track:12&via=@me",
    "https://example.com/share?next=https%3A%2F%2Fx.org%2F%40user",
    "https://example.com/share?next=https%253A%252F%252Fx.org%252F%2540user",
    "https://web.example.com/web/2020/https://example.com/@user/post",
    "http://host:65535/p@x",
    "http://[2001:db8::1]:8080/@x",
    "http://@example.com/",
    "http:\\\\example.com\\@user",
    "file:///me@x/a",
    "file:///C:/me@x",
    "mailto:me@x.org",
    "git@example.com:group/project",
    "javascript:f(@x)",
    "me@x.org",
    "@",
    "",
)


def test_an_at_sign_that_does_not_end_a_user_name_stays() -> None:
    for url in INNOCENT:
        assert without_credentials(url) == url
        if not url.startswith(("mailto:", "javascript:")):  # as names they may have a password
            assert identifier_without_credentials(url) == url


def test_only_user_name_and_password_are_removed() -> None:
    for url, shown in [
        ("http://user:secret@h/x?y#z", "http://h/x?y#z"),
        ("http://secret@h", "http://h"),
        ("http://user:secret@[::1]:80/", "http://[::1]:80/"),
        ("http://user:secret@h/@user", "http://h/@user"),
        ("http://u:s@h/?next=http://v:s@i/&to=me@x.org", "http://h/?next=http://i/&to=me@x.org"),
        ("https://h/?next=http%3A%2F%2Fu%3As%40i%2Fq&to=me@x.org", "https://h/?next=http%3A%2F%2Fi%2Fq&to=me@x.org"),
        ("https://h/?next=http%253A%252F%252Fu%253As%2540i", "https://h/?next=http%253A%252F%252Fi"),
        ("https://h/2020/http://u:s@i/", "https://h/2020/http://i/"),
        ("http://user:se/cret@h/x", "http://h/x"),
        ("https://h/?next=http://u:s/s@i/&to=me@x.org", "https://h/?next=http://i/&to=me@x.org"),
        ("http://user:65536/x@h", "http://h"),
        ("s3://KEY:sec/ret@bucket/x", "s3://bucket/x"),
    ]:
        assert without_credentials(url) == shown
        assert text_without_credentials(f"at <{shown}>") == f"at <{shown}>"


# Credentials at every place

SECRETS = st.text(string.ascii_letters + string.digits, min_size=12, max_size=20)
SPECIAL = st.sampled_from(["http", "https", "ftp", "ws", "wss", "HTTP", "hTTpS"])
OTHER = st.sampled_from(["s3", "socks5", "git+ssh", "ftps", "postgres", "x-y.z"])
SLASHES = st.text("/\\", max_size=4)
# As in a well written address, and as people write it.
AROUND = st.text("ab1.-_~!$'()*+,;=%", max_size=4)
RAW = st.text("ab1:/?#\\&<>\"' é：", max_size=4)
HOSTS = st.sampled_from(["h", "example.com", "example.com:8080", "[::1]", "[::1]:443"])
TAILS = st.sampled_from(["", "/", "/x/y", "?q=1", "#f", "/a?b=c#d", "\\x"])


@st.composite
def userinfos(draw: st.DrawFn, secret: str) -> str:
    """Return a user name, or one with a password, with *secret* in it; well written or not."""
    kind = draw(st.sampled_from(["user", "password", "raw", "name and raw"]))
    if kind == "user":
        return draw(AROUND) + secret + draw(AROUND) + draw(st.sampled_from(["", ":pw"]))
    if kind == "password":
        return f"{draw(AROUND)}:{draw(AROUND)}{secret}{draw(AROUND)}"
    # "12" before a slash is a port: another part of a password that could be one is not looked for.
    if kind == "raw":
        return f"user:{secret}{draw(RAW)}"
    return f"user:pw{draw(RAW)}{secret}{draw(RAW)}"


@st.composite
def addresses(draw: st.DrawFn, secret: str) -> str:
    userinfo, rest = draw(userinfos(secret)), draw(HOSTS) + draw(TAILS)
    form = draw(st.sampled_from(["special", "other", "relative"]))
    if form == "special":
        return f"{draw(SPECIAL)}:{draw(SLASHES)}{userinfo}@{rest}"
    if form == "other":
        return f"{draw(OTHER)}://{userinfo}@{rest}"
    return f"{draw(st.sampled_from(['//', chr(92) * 2, '/' + chr(92)]))}{userinfo}@{rest}"


@st.composite
def well_written(draw: st.DrawFn, secret: str) -> str:
    """Return an address that may stand within another one."""
    userinfo = f"{draw(AROUND)}{secret}:{draw(AROUND)}{secret}" if draw(st.booleans()) else secret
    return f"{draw(SPECIAL)}:{'/' * draw(st.integers(1, 3))}{userinfo}@{draw(HOSTS)}{draw(TAILS)}"


@st.composite
def nested(draw: st.DrawFn, secret: str) -> str:
    inner = draw(well_written(secret))
    for _ in range(draw(st.integers(0, 3))):
        inner = quote(inner, safe=draw(st.sampled_from(["", "/", "~-_"])))
    place = draw(
        st.sampled_from(["?next={}", "?a=1&next={}&b=2", "#{}", "#a={}", "web/2020/{}", "?a=http://i/?b={}", "{}"])
    )
    return f"https://h/{place.format(inner)}"


def test_a_secret_is_removed_wherever_it_stands() -> None:
    @settings(max_examples=EXAMPLES, deadline=None)
    @given(st.data(), SECRETS)
    def check(data: st.DataObject, secret: str) -> None:
        url = data.draw(st.one_of(addresses(secret), nested(secret)))
        shown = without_credentials(url)
        assert secret not in shown
        assert without_credentials(shown) == shown
        for break_ in "\t\n\r":
            at = data.draw(st.integers(0, len(url)))
            assert secret not in without_credentials(url[:at] + break_ + url[at:]).translate(dict.fromkeys(range(32)))
        assert secret not in identifier_without_credentials(url)
        text = f'"{url}" cannot be fetched'.replace("\n", " ")
        assert secret not in text_without_credentials(text)

    check()


PIECES = st.lists(
    st.sampled_from(
        [
            *"@ : / \\ ? # & = // :// %40 %3A %2F %2540 %253a %25 % %0a %26 %3f".split(" "),
            *"http http: HTTPS:/ s3:// user 80 [::1] . ' ( + ; < @h ： ＠ é".split(" "),
            *" \t\n",
        ]
    ),
    max_size=14,
).map("".join)
REMOVERS = [without_credentials, text_without_credentials, identifier_without_credentials]


@pytest.mark.parametrize("remove", REMOVERS)
def test_removing_twice_is_the_same_as_removing_once(remove: Callable[[str], str]) -> None:
    @settings(max_examples=EXAMPLES, deadline=None)
    @given(PIECES)
    def check(text: str) -> None:
        once = remove(text)
        assert remove(once) == once

    check()


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    st.sampled_from(["http", "https"]),
    st.sampled_from(["h", "example.com", "example.com:8080", "[::1]:443"]),
    st.text("ab@:.,;=+-/", max_size=20).filter(lambda path: "//" not in path),
    st.lists(st.text("ab@:.,;+-/%4025", max_size=10).filter(lambda value: "//" not in value and "%" not in value)),
)
@example("https", "example.com", "@user", [])
def test_an_address_without_credentials_does_not_change(scheme: str, host: str, path: str, values: list[str]) -> None:
    query = "&".join(f"{number}={value}" for number, value in enumerate(values))
    url = f"{scheme}://{host}/{path}?{query}"
    assert without_credentials(url) == url
    assert identifier_without_credentials(url) == url
    assert (
        without_credentials(f"https://h/?next={quote(url, safe='')}&a=@")
        == f"https://h/?next={quote(url, safe='')}&a=@"
    )
    assert without_credentials(f"https://web/2020/{url}") == f"https://web/2020/{url}"


# Hosts


def test_a_host_contains_no_user_name() -> None:
    for url, host in [
        ("http://User:Secret@WWW.Example.com:8080/", "example.com:8080"),
        ("http://user:secret/x@h/", "h"),
        ("http://@h/", "h"),
        ("http://www.h:80/a?b", "h:80"),
        ("https://h?b", "h"),
        ("http://h:80/x@y/", "h:80"),
        ("http://h\n/", "h"),
        ("mailto:me@x.org", ""),
        ("http://[broken", ""),
    ]:
        assert host_of(url) == host
        assert not host or is_of_host(url, host)


# Names


def test_names_with_different_credentials_stay_different() -> None:
    names = ["http://alice:secret@h/", "http://bob:secret@h/", "alice:secret@h", "bob:secret@h", "http://h/"]
    shown = [identifier_without_credentials(name) for name in names]
    assert len({*shown}) == len(names)
    assert not any("secret" in name or "alice" in name for name in shown)


# Texts


def test_addresses_in_a_text_lose_their_credentials() -> None:
    for text, shown in [
        ("<200 http://user:secret@h/x>", "<200 http://h/x>"),
        ("netloc 'user:secret@h:80' is wrong", "netloc 'h:80' is wrong"),
        ("netloc 'user:secret\uff20h' is wrong", "netloc 'h' is wrong"),
        (
            "http://h/?u=http://h:80&x=1 (as https://h/@user/post)",
            "http://h/?u=http://h:80&x=1 (as https://h/@user/post)",
        ),
        ("http://127.0.0.1:8000: refused by me@x.org", "http://127.0.0.1:8000: refused by me@x.org"),
        ("ask me@x.org about http://h/@user", "ask me@x.org about http://h/@user"),
        ("a\nhttp://user:my secret@h\nb@c", "a\nhttp://h\nb@c"),
        ('File "/home/me@work/x.py", line 3', 'File "/home/me@work/x.py", line 3'),
        (r"File C:\Users\me@work\x.py", r"File C:\Users\me@work\x.py"),
        (r'{"url":"http:\/\/user:secret@h\/"}', r'{"url":"http:\/\/h\/"}'),
    ]:
        assert text_without_credentials(text) == shown


def test_a_registered_domain_does_not_depend_on_how_the_host_is_written() -> None:
    for url, domain in [
        ("http://www.example.co.uk:8080/path", "example.co.uk"),
        ("HTTP://News.Example.COM/", "example.com"),
        ("http://LOCALHOST/", "localhost"),
        ("http://Wiki.Intranet/", "wiki.intranet"),  # nothing says that both hosts of this suffix have one owner
        ("http://co.uk/", "co.uk"),
        ("http://192.0.2.1/", "192.0.2.1"),
        ("http://[::1", "["),
        ("", ""),
    ]:
        assert registered_domain(url) == domain
