"""Strategies for pages of any bytes: tag soup, and articles that were cut, repeated and damaged."""

from hypothesis import strategies as st

from tests.support.hostile_pages import chinese, english, traditional

_TAGS = (
    "a aside article b base blockquote body br button canvas dd div dl dt em font footer form frame frameset h1 head html"
    " i iframe img input li link main math meta nav noscript object ol option p plaintext pre script section select span"
    " style svg table tbody td template textarea th title tr ul video x-y xml"
).split()
_CHARSETS = (
    "ascii base64 big5 cp037 cp1252 euc-jp gb18030 gbk hex hz idna iso-2022-jp koi8-r latin-1 punycode rot13 shift_jis"
    " undefined unicode_escape utf-16 utf-16le utf-32 utf-7 utf-8 utf-8-sig x-klingon zlib"
).split()
_ENTITIES = [
    f"&{name}" for name in "amp; lt; gt; nbsp; #0; #x41; #xD800; #x110000; #99999999999; unknown; amp # #x".split()
]
_ODD = f"\0 \ufeff \ufffd \u202e \u200b \u0301 e\u0301 \ufdfa 茶馆 คำ שלום 👩‍👩‍👧 © {'7' * 30}".split()
_MARKUP = ["<!--", "-->", "<!", "<?", "?>", "<![CDATA[", "]]>", "</", "<", ">", "/>", "'", '"', "=", "<!doctype html>"]
_HREFS = "/a http://[ // # ?x=1&sid=2 javascript:0 data:, http://e.com:99999/ ../.. \\ mailto:".split()

any_text = st.text(st.characters(exclude_categories=()), max_size=30)  # includes lone surrogates
addresses = st.one_of(
    st.sampled_from(["http://example.com/a", "http://[", "", "http://e.com:x/", "http://\u2100.com/"]),
    any_text.map(lambda path: f"http://example.com/{path}"),
    any_text,
)
encodings = st.one_of(st.none(), st.sampled_from(_CHARSETS), any_text)

_values = st.one_of(st.sampled_from(_HREFS), st.text(max_size=10))
_attributes = st.builds(
    "{} {}={}{}{}".format,
    st.just(""),
    st.sampled_from("href src title class type charset content http-equiv style id \0 =".split()),
    st.sampled_from(["", "'", '"']),
    st.one_of(_values, st.sampled_from(_CHARSETS)),
    st.sampled_from(["", "'", '"']),
)
_opening = st.builds("<{}{}>".format, st.sampled_from(_TAGS), st.lists(_attributes, max_size=3).map("".join))
_closing = st.sampled_from(_TAGS).map("</{}>".format)
_declared = st.builds("<meta charset={}>".format, st.sampled_from(_CHARSETS))
_pieces = st.one_of(
    _opening,
    _closing,
    st.sampled_from([*_MARKUP, *_ENTITIES, *_ODD]),
    st.text(max_size=20),
    st.just("seven words of text that say little, "),
).map(lambda piece: piece.encode("utf-8", "surrogatepass"))


@st.composite
def soup(draw: st.DrawFn) -> bytes:
    """Draw tags and pieces of tags, entities, characters that are not text, and bytes that are not characters."""
    pieces = draw(st.lists(st.one_of(_pieces, _pieces, _pieces, st.binary(max_size=10)), max_size=60))
    times = draw(st.sampled_from([1, 1, 1, 40]))
    return draw(st.one_of(st.just(b""), _declared.map(str.encode))) + b"".join(pieces) * times


@st.composite
def damaged_article(draw: st.DrawFn) -> bytes:
    """Draw an article in one of several charsets that was cut, repeated or damaged."""
    text, charsets = draw(
        st.sampled_from(
            [
                (english(), ["utf-8", "utf-16", "utf-32", "cp037"]),
                (chinese(), ["utf-8", "gbk", "gb18030", "utf-16"]),
                (traditional(), ["utf-8", "big5"]),
            ]
        )
    )
    body = bytearray(text.encode(draw(st.sampled_from(charsets))))
    for _ in range(draw(st.integers(0, 5))):
        accident = draw(st.sampled_from(["cut", "double", "flip", "put", "drop"]))
        at = draw(st.integers(0, len(body)))
        to = min(len(body), at + draw(st.integers(0, 300)))
        if accident == "cut":
            del body[at:]
        elif accident == "drop":
            del body[at:to]
        elif accident == "double":
            body[at:at] = body[at:to] * draw(st.integers(1, 5))
        elif accident == "put":
            body[at:at] = draw(st.one_of(soup(), st.binary(max_size=20)))
        elif at < len(body):
            body[at] ^= 1 << draw(st.integers(0, 7))
    return bytes(body)


pages = st.one_of(soup(), damaged_article(), st.binary(max_size=300))
