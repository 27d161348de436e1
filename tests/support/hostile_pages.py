"""Broken and hostile pages, for the tests and for ``python -m benchmarks.hostile``."""

import gzip
import io
import random
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from unicodedata import combining, normalize

from crawler_dedup.spiders.demo import DEMO_TEXTS

URL = "http://example.com/hostile"
ANY = "any"
"""The answer for a page whose verdict may be any."""
FEW = "too little text"
MANY = "too many nodes"
DEEP = "nested too deep"
LONG = "too many characters"
LARGE = "more bytes than DEDUP_MAX_BYTES"
ATTRIBUTES = "too many attributes"
_NESTED = 100_000
_MEGABYTE = 1 << 20


@dataclass(frozen=True)
class HostilePage:
    """A broken or hostile page.

    Attributes:
        make: returns its bytes, the same bytes every time.
        answer: the expected verdict, or the reason of ``unchecked``, or :data:`ANY`.
        url: its address.
        encoding: the charset that the transport names.
    """

    name: str
    make: Callable[[], bytes]
    answer: str
    url: str = URL
    encoding: str | None = None


def english() -> str:
    """Return a sound page in English."""
    return _page(DEMO_TEXTS.english[0].title, DEMO_TEXTS.english[0].paragraphs)


def chinese() -> str:
    """Return a page in simplified Chinese."""
    return _page(DEMO_TEXTS.chinese[0].title, DEMO_TEXTS.chinese[0].paragraphs)


def traditional() -> str:
    """Return a page in traditional Chinese, with characters of Big5 only."""
    return _page("河邊的老茶館", _TRADITIONAL)


_TRADITIONAL = (
    "河邊的老茶館又開門了。掌櫃說,茶是去年春天採的,水還是從後山挑來的,一壺可以坐一個下午。",
    "窗外的渡船已經停了三十年,船夫的兒子如今在城裡開車,每逢節日才回來看望父親,順便修一修屋頂。",
    "聽說明年要造一座橋,老人們並不高興,他們擔心汽車一來,鳥就飛走了,夜裡再也聽不見水聲。",
)


def _page(title: str, paragraphs: tuple[str, ...]) -> str:
    text = "".join(f"<p>{paragraph}</p>\n" for paragraph in paragraphs)
    return (
        f"<!doctype html><html><head><title>{title}</title></head><body><nav><a href='/'>/</a></nav>"
        f"<article><h1>{title}</h1>\n{text}</article></body></html>"
    )


def _utf8(text: str) -> bytes:
    return text.encode()


def _with(markup: str) -> Callable[[], bytes]:
    """Return a function that makes the English page with *markup* before its text."""
    return lambda: english().replace("<article>", f"<article>{markup}", 1).encode()


def _repeated(piece: str | bytes, size: int, before: str = "") -> Callable[[], bytes]:
    """Return a function that repeats *piece* to *size* bytes."""
    content = piece.encode() if isinstance(piece, str) else piece
    return lambda: (before.encode() + content * (size // len(content)))[:size]


def _nested(piece: str) -> Callable[[], bytes]:
    return lambda: _SHORT.encode() + piece.encode() * _NESTED


# A short page with a link, of which all visible text is compared.
_SHORT = "<title>short</title><a href=/1>on</a> seven words of text on a page, neither more nor less than twelve. "


def _numbered(piece: str, count: int, before: str = "", after: str = "") -> Callable[[], bytes]:
    """Return a function that repeats *piece* *count* times; ``{}`` or ``{0}`` in it is replaced by the number."""
    return lambda: _utf8(before + "".join(map(piece.format, range(count))) + after)


def _characters(count: int, *ranges: tuple[int, int]) -> str:
    source = random.Random(1)
    return "".join(source.choices([chr(code) for low, high in ranges for code in range(low, high)], k=count))


def _text(count: int, *ranges: tuple[int, int]) -> Callable[[], bytes]:
    return lambda: _utf8(f"<p>{_characters(count, *ranges)}</p>")


def _bytes(count: int) -> bytes:
    return random.Random(1).randbytes(count)


def _zip() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr(zipfile.ZipInfo("page.html"), english())
    return content.getvalue()


def _mutated(seed: int) -> Callable[[], bytes]:
    """Return a function that makes the English page with one in fifty bytes changed."""

    def make() -> bytes:
        source, body = random.Random(seed), bytearray(english().encode())
        for at in source.sample(range(len(body)), len(body) // 50):
            body[at] = source.randrange(256)
        return bytes(body)

    return make


def _attributes(count: int, value: str = "=1") -> str:
    """Return this number of attributes with different names."""
    return "".join(f" a{number}{value}" for number in range(count))


def _marks() -> bytes:
    marks = [chr(code) for code in range(0x20000) if combining(normalize("NFKD", chr(code))[0])]
    return _utf8("<p>" + "".join(random.Random(1).choices(marks, k=199_000)))


# A script as in the pages of shops, in which "<n" begins no tag, and the text after it has no attributes.
_SCRIPT = f"<script>for(i=0;i<n.length;i++){{{'f(a, b / c); ' * 20_000}}}</script>"
_HAN = (0x4E00, 0x9FA5)
_UNSPACED = ((0x3041, 0x30FF), (0x0E01, 0x0E30), (0x0F00, 0x0F47), (0x1000, 0x109F), (0x1780, 0x17D0))
_LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
BILLION_LAUGHS = f'<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY l0 "lol">{_LAUGHS}]>'
EXTERNAL = '<!DOCTYPE x [<!ENTITY x SYSTEM "{0}"><!ENTITY % y SYSTEM "{0}"> %y;]><title>&x;</title><p>&x; %y; '


MARKUP = (
    HostilePage("valid", lambda: english().encode(), "new"),
    HostilePage("cut in a paragraph", lambda: english().encode()[:900], "new"),
    HostilePage("cut in a tag", lambda: english().partition("</p>")[0].encode() + b"</p><p class='a", "new"),
    HostilePage("cut in a character", lambda: chinese().encode().rpartition("。".encode())[0] + b"\xe8", ANY),
    HostilePage("cut in the doctype", lambda: b"<!doct", FEW),
    HostilePage("without any end tag", lambda: english().replace("</", "<i").encode(), ANY),
    HostilePage("end tags first", lambda: b"</p></div></body></html>" * 50 + english().encode(), "new"),
    HostilePage("two pages in one", lambda: _utf8(english() * 2), "new"),
    HostilePage("tags crossed", lambda: _utf8(_SHORT + "<font><b><i>x</b></font></i>" * 1000), "new"),
    HostilePage("quotes never closed", _with("<a href=\"x><b title='y>"), ANY),
    HostilePage("one byte in fifty wrong", _mutated(1), "new"),
    HostilePage("only <", _repeated("<", 8 << 20), MANY),
    HostilePage("only </", _repeated("</", 8 << 20), MANY),
    HostilePage("only <!", _repeated("<!", 8 << 20), MANY),
    HostilePage("only <!--", _repeated("<!--", 8 << 20), MANY),
    HostilePage("only <![CDATA[", _repeated("<![CDATA[", 8 << 20), MANY),
    HostilePage("only &amp;", _repeated("&amp;", 8 << 20), LONG),
    HostilePage("only &a", _repeated("&a", 8 << 20), LONG),
    HostilePage("script that never ends", _repeated("</scrip ", 8 << 20, _SHORT + "<script>"), MANY),
    HostilePage("CDATA", _with("<![CDATA[ <p>x</p> ]]>" * 100), "new"),
    HostilePage("processing instructions", _with("<?php echo '<p>'; ?>" * 100), "new"),
    HostilePage("conditional comments", _with("<!--[if IE]><p>x<![endif]--><![if !IE]>y<![endif]>" * 100), "new"),
    HostilePage("10,000 names of elements", _numbered("<x-{0}>y</x-{0}>", 10_000, english()), ANY),
    HostilePage("100,000 attributes", _numbered(" a{}=1", _NESTED, "<p", ">" + english()), ANY),
    HostilePage("4,900 attributes, 100 times", lambda: _utf8(("<p" + _attributes(4900) + ">") * 100), ATTRIBUTES),
    HostilePage("900 attributes, 2,000 times", lambda: _utf8(("<p" + _attributes(900) + ">") * 2000), ATTRIBUTES),
    HostilePage("40,000 attributes with >", lambda: _utf8("<p" + _attributes(40_000, "='>'") + ">"), ATTRIBUTES),
    HostilePage("40,000 attributes in UTF-16", lambda: ("<p" + _attributes(40_000) + ">").encode("utf-16"), ATTRIBUTES),
    HostilePage("tags that never end", lambda: _utf8(english() + ("<a" * 5000 + ">") * 79), ANY),
    HostilePage("a script with < and >", lambda: _utf8(english() + _SCRIPT), "new"),
    HostilePage("100,000 equal attributes", _repeated(" a=1", 4 * _NESTED, "<p"), ANY),
    HostilePage("100,000 titles", _repeated("<title>x</title>", 16 * _NESTED), MANY),
    HostilePage("2,700,000 <p>", _repeated("<p>", 8 << 20), MANY),
    HostilePage("900,000 comments", _repeated("xx<!---->", 8_000_000, "<p>"), MANY),
    HostilePage("1,300,000 processing instructions", _repeated("x<?a?>", 8_000_000, "<p>"), MANY),
    HostilePage("comments in an aside", _repeated("x<!---->", 1_600_000, _SHORT + "<aside>"), "new"),
    HostilePage("comments in ten asides", _repeated("x<!---->", 800_000, _SHORT + "<aside>" * 10), "new"),
    HostilePage("elements in deep asides", _repeated("<b>x</b>", 160_000, _SHORT + "<aside>" * 1900), ANY),
    HostilePage("40,000 asides", _repeated("<aside>x</aside>", 640_000, _SHORT), "new"),
    HostilePage("40,000 pictures", _repeated("<img src=x>", 440_000, _SHORT), "new"),
)

_PIECES = {
    DEEP: "<div>  <b>  <x-y>",
    MANY: "<table><tr><td>x  <b><i><font>x  <p>x  <li>x  <ul><li>x  <dl><dd>x  <form>x",
    ANY: "<table>  <a href=x>  <svg>  <svg><g>  <math><mi>  <select><option>  <aside>x  <button>x  <iframe>  <frameset>"
    "  <frameset><frame src=x>  <noframes>  <object>  <template>  <body>  <html>",
}
NESTED = tuple(
    HostilePage(f"nested {piece}", _nested(piece), answer)
    for answer, pieces in _PIECES.items()
    for piece in pieces.split("  ")
)

LARGE_ONES = (
    HostilePage("50 MB of text", _repeated("words and words ", 50 << 20, "<p>"), LARGE),
    HostilePage("50 MB of tags", _repeated("<p>", 50 << 20), LARGE),
    HostilePage("5 MB of Latin letters", _repeated("x", 5 * _MEGABYTE, "<p>"), LONG),
    HostilePage("5 MB of Han", _repeated("茶", 5 * _MEGABYTE, "<p>"), LONG),
    HostilePage("5 MB of digits", _repeated("7", 5 * _MEGABYTE, "<p>"), LONG),
    HostilePage("a number of 199,000 digits", _repeated("7", 199_000, "<p>"), "new"),
    HostilePage("33,000 numbers", _numbered("{} ", 33_000, "<p>"), "new"),
    HostilePage("5 MB of href", _repeated("x", 5 * _MEGABYTE, english() + "<a href=http://e.com/"), ANY),
    HostilePage("5 MB of an attribute", _repeated("x", 5 * _MEGABYTE, english() + "<p title="), "new"),
    HostilePage("5 MB of the name of a tag", _repeated("x", 5 * _MEGABYTE, english() + "<p"), ANY),
    HostilePage("5 MB of script", _repeated("x", 5 * _MEGABYTE, english() + "<script>"), "new"),
    HostilePage("5 MB of title", _repeated("x", 5 * _MEGABYTE, "<title>"), FEW),
    HostilePage("5 MB of comment", _repeated("x", 5 * _MEGABYTE, english() + "<!--"), "new"),
    HostilePage("199,000 equal Han", _repeated("茶", 597_000, "<p>"), "new"),
    HostilePage("199,000 Han", _text(199_000, _HAN), "new"),
    HostilePage("199,000 Han as references", _repeated("&#33590;", 199_000 * 8, "<p>"), "new"),
    HostilePage("199,000 kana, Thai, Khmer", _text(199_000, *_UNSPACED), "new"),
    HostilePage("199,000 ligatures of 18 letters", _repeated("\ufdfa", 597_000, "<p>"), ANY),
    HostilePage(
        "1,600,000 Han in short blocks",
        lambda: _utf8(_SHORT + f"<div>{DEMO_TEXTS.chinese[0].paragraphs[0][:32]}</div>" * 48_000),
        LONG,
    ),
)

CHARSETS = (
    HostilePage("GBK, labelled", lambda: chinese().encode("gbk"), "new", encoding="gbk"),
    HostilePage("GBK, not labelled", lambda: chinese().encode("gbk"), "new"),
    HostilePage("24 MB once decoded", _repeated(b"\x80", 8_380_000, "<"), LONG, encoding="cp1252"),
    HostilePage("GBK as UTF-8", lambda: chinese().encode("gbk"), ANY, encoding="utf-8"),
    HostilePage("GBK as Latin-1", lambda: chinese().encode("gbk"), ANY, encoding="latin-1"),
    HostilePage("Big5, labelled", lambda: traditional().encode("big5"), "new", encoding="big5"),
    HostilePage("Big5, not labelled", lambda: traditional().encode("big5"), "new"),
    HostilePage("Big5 as GBK", lambda: traditional().encode("big5"), ANY, encoding="gbk"),
    HostilePage("unknown charset", lambda: english().encode(), "new", encoding="x-klingon"),
    HostilePage("UTF-16 with a mark", lambda: english().encode("utf-16"), "new"),
    HostilePage("UTF-16 without a mark", lambda: english().encode("utf-16-le"), ANY),
    HostilePage("UTF-32 with a mark", lambda: english().encode("utf-32"), "new"),
    HostilePage("UTF-32 without a mark", lambda: english().encode("utf-32-be"), ANY),
    HostilePage("UTF-7", lambda: english().encode("utf-7"), ANY, encoding="utf-7"),
    HostilePage("a mark that lies", lambda: b"\xff\xfe" + english().encode(), ANY),
    HostilePage("surrogates as WTF-8", _repeated(b"\xed\xa0\x80 ", 100_000, english()), "new"),
    HostilePage("surrogates as references", _with("&#xD800; &#xDFFF; &#55296; &#x110000; &#0; &#-1;" * 100), "new"),
    HostilePage("NUL in the text", _with("a\0b\0" * 100), "new"),
    HostilePage("NUL in tags", _with("<p\0x a\0b='c\0d'>"), "new"),
    HostilePage("NUL in addresses", _with("<a href='/\0a\0'>x</a><a href='&#0;'>y</a>"), "new"),
    HostilePage("control characters", _with("".join(map(chr, range(1, 32))) * 100), ANY),
    HostilePage("punycode", lambda: b"<meta charset=punycode><p>" + b"abc" * 300_000 + b"-" + b"bcd" * 300_000, ANY),
    *(
        HostilePage(f"charset {name}", lambda name=name: f"<meta charset={name}>{english()}".encode(), ANY)  # type: ignore[misc]
        for name in (
            "base64 bz2 hex idna mbcs oem palmos punycode quopri raw_unicode_escape rot13 undefined unicode_escape"
            " utf-7 utf-8-sig utf_16 utf_32 uu zlib __init__ encodings"
        ).split()
    ),
    HostilePage("surrogates by unicode_escape", lambda: rb"<meta charset=unicode_escape><p>\ud800\q", ANY),
)

BINARY = (
    HostilePage("empty", lambda: b"", FEW),
    HostilePage("white space", lambda: b" \n\t\r\f" * 10_000, FEW),
    HostilePage("NUL alone", lambda: b"\0" * 10_000, FEW),
    HostilePage("only a mark", lambda: b"\xef\xbb\xbf", FEW),
    HostilePage("comments alone", lambda: b"<!-- nothing -->" * 1000, FEW),
    HostilePage("16 KB at random", lambda: _bytes(16_000), ANY),
    HostilePage("8 MB at random", lambda: _bytes(8_000_000), ANY),
    HostilePage("8 MB of bytes above 160", lambda: bytes(160 + byte % 95 for byte in _bytes(8_000_000)), ANY),
    HostilePage("PNG", lambda: b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + zlib.compress(_bytes(50_000)), ANY),
    HostilePage("PDF", lambda: b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\nstream\n" + _bytes(50_000), ANY),
    HostilePage("zip", _zip, ANY),
    HostilePage("gzip", lambda: gzip.compress(english().encode(), mtime=0), ANY),
)

ENTITIES = (
    HostilePage("billion laughs", lambda: _utf8(f"{BILLION_LAUGHS}<title>&l9;</title><p>&l9;"), FEW),
    HostilePage("a file as entity", lambda: EXTERNAL.format("file:///etc/passwd").encode(), FEW),
)

LINKS = (
    HostilePage("10 links alone", _numbered("<a href=/{0}>{0}</a> ", 10), "too little text"),
    HostilePage("5,000 links alone", _numbered("<a href=/{0}>{0}</a> ", 5000), "new"),
    HostilePage("100,000 links alone", _numbered("<a href=/{0}>{0}</a> ", 100_000), MANY),
    HostilePage("links that lead nowhere", _with("".join(
        f'<a href="{escape(href)}">x</a>'
        for href in (
            "http://[", "http://[::1", "http://e.com:99999999/", "http://e.com:-1/", "http://e.com:x/", "//", "///",
            "http://", "http:///x", "http://\0/", "http://\u2100.com/", "javascript:alert(1)", "data:text/html,x", "?",
            "#", "", " ", "://", "\\\\e.com\\x", "http://e.com\\@f.com/", "http://%zz/", "http://ｅ.com/", ";", "mailto:",
        )
    )), "new"),
    HostilePage("1 MB of data:", _with(f"<a href='data:text/html,{'x' * _MEGABYTE}'>x</a>"), "new"),
    HostilePage("base that is invalid", lambda: b"<base href='http://['>" + english().encode(), "new"),
    HostilePage("base that is no address", lambda: b"<base href='javascript:\0'><base>" + english().encode(), "new"),
    HostilePage("links below a long base", _numbered(
        "<a href={}>", 49_000, f"<base href='http://e.com/{'a/' * 1000}'>{english()}"
    ), ANY),
    HostilePage("links with long queries", _numbered(f"<a href='?{{}}{'&a' * 1000}'>x</a>", 3900, english()), ANY),
    HostilePage("links with many dots", _numbered(f"<a href='{{}}{'/..' * 680}'>x</a>", 3900, english()), ANY),
    HostilePage("address of 10 KB", lambda: english().encode(), "new", url=f"{URL}?{'x' * 10_000}"),
    HostilePage("address of 10 KB of folders, 4,900 links", _numbered("<a href={}>", 4900, _SHORT), ANY,
                url=f"{URL}/{'a/' * 5000}"),
    HostilePage("address that is none", lambda: english().encode(), "new", url="http://["),
    HostilePage("empty address", lambda: english().encode(), "new", url=""),
)  # fmt: skip

SCRIPTS = (
    HostilePage("emoji", _with("👩‍👩‍👧‍👦🏳️‍🌈🇦🇶" * 1000), "new"),
    HostilePage("right to left", _with("שָׁלוֹם \u202eالسَّلَامُ عَلَيْكُمْ\u202c \u2067x\u2069" * 1000), "new"),
    HostilePage("100,000 marks on one letter", _with("a" + "\u0301\u0323" * 50_000), "new"),
    HostilePage("a mark on each letter", _repeated("a\u0301", 297_000, "<p>"), "new"),
    HostilePage("marks and letters in turn", _repeated("\u0967\u0902", 1_190_000, "<p>"), ANY),
    HostilePage("letters that become marks", _repeated("\u0301\uff9e", 990_000, "<p>"), ANY),
    HostilePage("2 MB of letters that become marks", _repeated("\u0301\uff9e", 2_200_000, "<p>"), LONG),
    HostilePage("all marks of Unicode", _marks, ANY),
    HostilePage("zero width", _with("w\u200bo\u200cr\u200dd\ufeff \u00ad\u2060" * 1000), "new"),
    HostilePage("characters that are none", _with("\ufffe\uffff\U0010ffff\ufffd" * 1000), "new"),
)

PAGES = {page.name: page for page in (*MARKUP, *NESTED, *LARGE_ONES, *CHARSETS, *BINARY, *ENTITIES, *LINKS, *SCRIPTS)}
