"""How the cost of each step grows with its input: ``python -m benchmarks.hostile --growth``.

Every step gets families of hostile input at four sizes, each twice the size before. The exponent of its cost is the slope
of processor time over size, both as logarithms: 1 is linear, 2 quadratic. Characters are drawn from all of Unicode, by
category, combining class and kind of decomposition. Markup consists of pairs of fragments, one after the other and in turn.
The regular expressions are those of all modules of the package. Every option of every scheme is tried with its least and its
largest value: a text is signed, and its signature is looked up and compared with itself.
"""

from __future__ import annotations

import math
import random
import re
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import partial
from importlib import import_module
from itertools import product
from pkgutil import walk_packages
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

import crawler_dedup
from crawler_dedup import Config, ConfigError
from crawler_dedup.errors import BeyondLimits, ExtraMissing
from crawler_dedup.signing import parsing, titles
from crawler_dedup.signing.characters import simplify_han
from crawler_dedup.signing.embedded import find_embedded_content
from crawler_dedup.signing.features import weigh_tokens
from crawler_dedup.signing.forms import forms_of
from crawler_dedup.signing.hidden import hidden_elements, without_hidden
from crawler_dedup.signing.maintext import find_main_blocks
from crawler_dedup.signing.outline import read_outline
from crawler_dedup.signing.outlinks import find_links
from crawler_dedup.signing.schemes import NAMES, Scheme, scheme_of
from crawler_dedup.signing.schemes.simhash import simhash
from crawler_dedup.signing.segmentation import han_cutter
from crawler_dedup.signing.signer import Signer
from crawler_dedup.signing.text import Text
from crawler_dedup.urls import text_without_credentials, without_credentials

LIMIT = 1.2
"""Largest exponent that is not shown as a fault."""
_DOUBLINGS = 4
_TEXT = 25_000
"""Characters of the smallest text. The largest is twice as long as a main text may be."""
_MARKUP = 64 << 10
"""Bytes of the smallest page."""
_TOO_SHORT = 0.02
"""An exponent is computed only if the largest input takes at least these seconds."""
_SLOWEST = 2.0
_TRIES = 4
_FEW_VALUES = 4
_SLOW_LANGUAGE = "arabic"
_NEAR = Config(max_distance=3)
"""A configuration that is allowed with every number of tables."""
_TITLE = 1_000
_URL = "http://example.com/"
_CHARSETS = ("utf-8", "gb18030", "big5", "iso2022_jp", "hz", "utf-16")

Step = Callable[[Any], object]


@dataclass(frozen=True)
class Growth:
    """The cost of one step for one family.

    Attributes:
        seconds: processor time for the largest input.
        exponent: exponent of the cost; ``nan`` if the inputs take too little time to compute it.
    """

    step: str
    family: str
    seconds: float
    exponent: float


# Families: a name, and a function that makes an input of a given length


def texts() -> dict[str, Callable[[int], str]]:
    """Return the families of texts: characters of each kind of Unicode, and of two kinds in turn."""
    kinds = _kinds_of_characters()
    source = random.Random(1)
    pairs = [(source.choice([*kinds]), source.choice([*kinds])) for _ in range(30)]
    return {
        **{name: _drawn(characters) for name, characters in kinds.items()},
        **{f"one of {name}": _drawn(characters[:1]) for name, characters in kinds.items()},
        **{f"{first} / {second}": _in_turn(kinds[first], kinds[second]) for first, second in pairs},
    }


def _kinds_of_characters() -> dict[str, str]:
    kinds: dict[str, list[str]] = {}
    for character in map(chr, range(sys.maxunicode + 1)):
        category = unicodedata.category(character)
        if category in ("Cn", "Co", "Cs"):
            continue
        names = [f"category {category}", f"combining class {unicodedata.combining(character)}"]
        decomposition = unicodedata.decomposition(character)
        if decomposition:
            names.append(f"decomposition {decomposition.split()[0] if decomposition[0] == '<' else '(canonical)'}")
            length = len(unicodedata.normalize("NFKD", character))
            names.append(f"decomposition into {length}")
            first = unicodedata.combining(unicodedata.normalize("NFKD", character)[0])
            names.append("decomposition begins with a mark" if first else "decomposition begins with a letter")
        for name in names:
            kinds.setdefault(name, []).append(character)
    return {name: "".join(characters) for name, characters in kinds.items()}


def _drawn(characters: str) -> Callable[[int], str]:
    return lambda length: "".join(random.Random(2).choices(characters, k=length))


def _in_turn(first: str, second: str) -> Callable[[int], str]:
    def make(length: int) -> str:
        source = random.Random(2)
        return "".join(source.choice(first) + source.choice(second) for _ in range(length // 2))

    return make


_FRAGMENTS = (
    "x x< <a <a href=x> <p> </p> <b> </b> <div> </div> <li> <ul> <table> <tr> <td> <form> <select> <option> <aside> <button>"
    " <textarea> <title> <script> </script> <style> <svg> <math> <template> <br> <img\u00a0src=x> <a\u00a0href=/{n}>t</a>"
    " <!----> <!-- --> <?a?> <![CDATA[ &amp; &a &#0; a=1 {n}= =' =\" ' \" = > /> <html> <body> <head> <base\u00a0href=x>"
    " <frameset> <noscript> <iframe>"
    " <p\u00a0hidden> <b\u00a0style='display:none'> <x-{n}> \u00e9 \u8336 \0 </html> <a\u00a0{n}>"
).split(" ")


def pages(pairs: int) -> dict[str, Callable[[int], bytes]]:
    """Return the families of pages: two fragments of markup in turn, or all of the first before all of the second."""
    chosen = random.Random(3).sample([*product(_FRAGMENTS, repeat=2)], pairs)
    families: dict[str, Callable[[int], bytes]] = {}
    for first, second in chosen:
        families[ascii(f"{first} {second}")] = _repeated(first + " " + second, "")
        families[ascii(f"{first} … {second}")] = _repeated(first, second)
    return families


def _repeated(first: str, second: str) -> Callable[[int], bytes]:
    def make(size: int) -> bytes:
        return b"".join(_filled(piece, size // 2 if second else size) for piece in (first, second) if piece)

    return make


def _filled(piece: str, size: int) -> bytes:
    piece = piece.replace("\u00a0", " ")
    if "{n}" not in piece:
        content = f"{piece} ".encode()
        return content * (size // len(content))
    return b"".join(f"{piece.replace('{n}', f'a{number}')} ".encode() for number in range(size // (len(piece) + 4)))


# Steps


def text_steps(tokenizer: str) -> Mapping[str, Step]:
    """Return the steps that process a text."""
    segment = han_cutter(tokenizer)
    bigrams = han_cutter("bigrams")
    return {
        "normalise": lambda text: Text(text, bigrams).plain,
        "simplified": simplify_han,
        "tokens (bigrams)": lambda text: Text(text, bigrams).tokens,
        f"tokens ({tokenizer})": lambda text: Text(text, segment).tokens,
        "units": lambda text: Text(text, bigrams).units,
        "features": lambda text: weigh_tokens(Text(text, bigrams).tokens),
        "simhash": lambda text: simhash(Text(text, bigrams).features),
        "shingles": lambda text: Text(text, bigrams).shingles(8),
        "titles.parts": titles.split_title.__wrapped__,
        "without_credentials": without_credentials,
        "text_without_credentials": text_without_credentials,
        **_scheme_steps(),
        **_patterns(str),
    }


def _scheme_steps() -> dict[str, Step]:
    schemes = {f"scheme {name}": scheme_of(name, _NEAR) for name in [*NAMES, *_with_options_at_their_ends()]}
    for scheme in schemes.values():
        scheme.load()
    return {name: partial(_sign_and_compare, scheme) for name, scheme in schemes.items()}


def _with_options_at_their_ends() -> Iterator[str]:
    for name in NAMES:
        for option in fields(scheme_of(name)):
            allowed = option.metadata.get("allowed", "")
            values = allowed.split(" to " if " to " in allowed else "|")
            for value in values if len(values) <= _FEW_VALUES else (_SLOW_LANGUAGE, values[-1]):
                spec = f"{name} {option.name}={value}"
                with suppress(ConfigError, ExtraMissing):  # it needs another option, or a package
                    if value and value != str(option.default):
                        scheme_of(spec, _NEAR)
                        yield spec


def _sign_and_compare(scheme: Scheme, text: str) -> None:
    signature = scheme.sign(Text(text, han_cutter("bigrams"), title=text[:_TITLE]))
    scheme.finds(signature, signature)
    scheme.compare(signature, signature)


def page_steps() -> Mapping[str, Step]:
    """Return the steps that process the bytes of a page, and its tree if it has one (see :func:`_prepared`)."""
    signer = Signer(Config(tokenizer="bigrams"))
    signer.load()
    return {
        "check_body": lambda page: parsing.check_body(page.body, 1 << 40),
        "check_attributes": lambda page: parsing.check_attributes(page.text.encode()),
        "parse": lambda page: parsing.parse(page.body),
        **{f"decode {charset}": _decode(charset) for charset in _CHARSETS},
        "detect the charset": lambda page: parsing.parse(page.body + b"\xff\xfe\xe9"),
        "check_nodes": lambda page: parsing.check_nodes(page.tree, 1 << 40),
        "check_depth": lambda page: parsing.check_depth(page.tree),
        "outline and paragraphs": lambda page: find_main_blocks(read_outline(page.tree)),
        "links": lambda page: find_links(page.tree, _URL),
        "title": lambda page: parsing.find_title(page.tree),
        "other parts": lambda page: find_embedded_content(page.tree),
        "hidden elements": lambda page: hidden_elements(page.tree),
        "without hidden": lambda page: without_hidden(page.tree),
        "forms": lambda page: list(forms_of(_URL, page.tree)),
        "asks for a password": lambda page: parsing.asks_for_password(page.tree),
        "the whole signature": lambda page: signer.sign(_URL, page.body, encoding=None, key=None, scope=""),
        **_patterns(bytes),
    }


def _decode(charset: str) -> Step:
    return lambda page: page.body.decode(charset, "replace")


@dataclass(frozen=True)
class _Page:
    body: bytes
    text: str
    tree: Any


def _prepared(body: bytes) -> _Page:
    text = body.decode("utf-8", "replace")
    try:
        tree = parsing.parse(body)
    except BeyondLimits:
        tree = parsing.parse(b"<p>")
    return _Page(body, text, tree)


def _patterns(kind: type[str] | type[bytes]) -> dict[str, Step]:
    """Return a step for every compiled regular expression of the package for strings or for bytes."""
    patterns: dict[str, Step] = {}
    for module in _modules():
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern) and isinstance(value.pattern, kind):
                patterns[f"{module.__name__.removeprefix('crawler_dedup.')}.{name}"] = _search(value)
    return patterns


def _search(pattern: re.Pattern[Any]) -> Step:
    def run(given: Any) -> None:
        content = given.body if isinstance(given, _Page) else given
        for _ in pattern.finditer(content):
            pass
        pattern.match(content)
        pattern.fullmatch(content)

    return run


def _modules() -> Iterator[Any]:
    for module in walk_packages(crawler_dedup.__path__, "crawler_dedup."):
        with suppress(ImportError):  # an optional library is missing
            yield import_module(module.name)


# Measuring


def measured(step: str, call: Step, family: str, inputs: list[Any], sizes: list[int]) -> Growth:
    """Return the growth of the cost of *call* over *inputs*. A steep slope may be noise, and is measured again."""
    largest = _cost(call, inputs[-1])
    if largest < _TOO_SHORT:
        return Growth(step, family, largest, math.nan)
    best = Growth(step, family, 0.0, math.inf)
    for _ in range(_TRIES):
        costs = [_cost(call, given) for given in inputs]
        growth = Growth(step, family, costs[-1], _slope(sizes, costs))
        if not growth.exponent > LIMIT:  # also true if the exponent is not a number
            return growth
        best = min(best, growth, key=lambda measure: measure.exponent)
    return best


def _cost(call: Step, given: Any) -> float:
    start = time.process_time()
    with suppress(BeyondLimits):
        call(given)
    return time.process_time() - start


def _slope(sizes: list[int], costs: list[float]) -> float:
    points = [
        (math.log(size), math.log(cost)) for size, cost in zip(sizes, costs, strict=True) if cost > _TOO_SHORT / 8
    ]
    if len(points) < 3:
        return math.nan
    middle_x, middle_y = (sum(values) / len(points) for values in zip(*points, strict=True))
    slope: float = sum((x - middle_x) * (y - middle_y) for x, y in points) / sum((x - middle_x) ** 2 for x, _ in points)
    return slope


def _grow(
    steps: Mapping[str, Step],
    families: Mapping[str, Callable[[int], Any]],
    smallest: int,
    prepare: Callable[[Any], Any],
    console: Console,
) -> Iterator[Growth]:
    sizes = [smallest << doubling for doubling in range(_DOUBLINGS)]
    for family in track(families, console=console):
        inputs = [prepare(families[family](size)) for size in sizes]
        for step, call in steps.items():
            yield measured(step, call, family, inputs, sizes)


def report(growths: Iterable[Growth]) -> tuple[Table, Table]:
    """Return two tables: each step with its worst family, and every family whose exponent is beyond :data:`LIMIT`."""
    by_step: dict[str, list[Growth]] = {}
    for growth in growths:
        by_step.setdefault(growth.step, []).append(growth)
    steps = Table(title=f"growth over {_DOUBLINGS} sizes, each twice the one before")
    for column in ("step", "families", "largest exponent", "of", "largest cost, s", "of "):
        steps.add_column(column, overflow="fold", justify="left" if column.strip() in ("step", "of") else "right")
    faults = Table(title=f"exponents above {LIMIT}, or costs above {_SLOWEST} s")
    for column in ("step", "family", "exponent", "s"):
        faults.add_column(column, overflow="fold")
    for step, rows in by_step.items():
        steep = max(rows, key=lambda row: -math.inf if math.isnan(row.exponent) else row.exponent)
        slow = max(rows, key=lambda row: row.seconds)
        steps.add_row(step, str(len(rows)), f"{steep.exponent:.2f}", steep.family, f"{slow.seconds:.3f}", slow.family)
        for row in rows:
            if row.exponent > LIMIT or row.seconds > _SLOWEST:
                faults.add_row(row.step, row.family, f"{row.exponent:.2f}", f"{row.seconds:.3f}")
    return steps, faults


def main(tokenizer: str, pairs: int, only: Sequence[str]) -> None:
    """Measure and print the steps that have a word of *only* in their names."""
    progress = Console(stderr=True)
    of_texts, of_pages = (
        {name: step for name, step in steps.items() if any(word in name for word in only)}
        for steps in (text_steps(tokenizer), page_steps())
    )
    growths = [
        *_grow(of_texts, texts() if of_texts else {}, _TEXT, lambda text: text, progress),
        *_grow(of_pages, pages(pairs) if of_pages else {}, _MARKUP, _prepared, progress),
    ]
    steps, faults = report(growths)
    console = Console(width=160)
    console.print(steps, faults)
    console.print(f"{len(growths)} measurements, {faults.row_count} beyond the limits")
