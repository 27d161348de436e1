"""How often the detected language of a text is right, and its cost, beside the library py3langid (if it is installed).

The texts are translated messages of programs in many languages, from the catalogues of GNU gettext that are installed on
this machine, joined to 200 and 1,000 letters. Also measured are the main texts of the saved sites, and of pages of seven
kinds, nearly all of which are English.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from gettext import GNUTranslations
from pathlib import Path

from benchmarks.kinds import KINDS_OF_PAGES, read_pages
from crawler_dedup import Config, SignedPage
from crawler_dedup.signedpage import PageKind
from crawler_dedup.signing.language import find_language
from crawler_dedup.signing.signer import Signer
from tests.support.data import DATA, documents, labelled_pairs, saved

_LEAST_MESSAGE = 40
_TEXTS = 25
_KNOWN = frozenset(
    "af am ar bg bn bo ca cs da de el en eo es et eu fa fi fr ga gl gu he hi hr hu hy id it ja ka km kn ko lo lt lv ml mr"
    " my nl no or pa pl pt ro ru si sk sl sv sw ta te th tl tr uk ur vi zh".split()
)
"""The languages that :func:`find_language` can find."""
_SAME = {"nb": "no", "nn": "no", "ms": "id"}
"""Languages that count as the same language: code → code of the other language."""
_PLACEHOLDERS = re.compile(r"%[-\w.]*\w|[<>{}\\%\"'_`]|--?\w[\w-]*|\b\w+=\S+")
_WIDE = re.compile("[\u3040-\u9fff\uac00-\ud7a3]")


@dataclass
class Answers:
    """The results of a detector for texts of known languages."""

    right: int = 0
    unknown: int = 0
    all: int = 0
    seconds: float = 0.0
    wrong: Counter[str] = field(default_factory=Counter)

    def add(self, language: str, answer: str) -> None:
        self.all += 1
        self.right += answer == language
        self.unknown += answer == "?"
        if answer not in (language, "?"):
            self.wrong[f"{language} as {answer}"] += 1

    def row(self, name: str) -> str:
        cost = f"{1000 * self.seconds / self.all:6.3f}" if self.seconds else "     –"
        wrong = ", ".join(f"{pair} {count}" for pair, count in self.wrong.most_common(5))
        return f"{name:34} {self.all:6,} {self.right / self.all:7.3f} {self.unknown / self.all:7.3f} {cost}  {wrong}"


def read_messages(folder: Path) -> dict[str, list[str]]:
    """Read the translated messages of all catalogues in *folder*, without placeholders, by language."""
    messages: dict[str, list[str]] = defaultdict(list)
    for file in sorted(folder.glob("*/LC_MESSAGES/*.mo")):
        locale = file.parts[-3]
        if "@" in locale or ("." in locale and not locale.endswith(".UTF-8")):
            continue
        try:
            with file.open("rb") as content:
                catalogue = GNUTranslations(content)._catalog  # type: ignore[attr-defined]  # no other way to list it
        except (OSError, UnicodeDecodeError, IndexError):  # a few catalogues are damaged
            continue
        for message, translated in catalogue.items():
            if message and isinstance(translated, str) and translated != message and len(translated) >= _LEAST_MESSAGE:
                words = _PLACEHOLDERS.sub(" ", translated).split()
                messages[re.split("[_.]", locale)[0]].append(" ".join(words))
    return messages


def join_messages(messages: Iterable[str], letters: int) -> Iterator[str]:
    """Join *messages* to texts of more than *letters* letters, or half as many in a wide script."""
    text = ""
    for message in messages:
        text += f"{message}\n"
        if len(text) > letters * (0.5 if _WIDE.search(text) else 1):
            yield text
            text = ""


def measure_messages(messages: dict[str, list[str]], letters: int, find: Callable[[str], tuple[str, float]]) -> Answers:
    """Call *find* with texts of the known languages; it returns a language and the seconds that it took."""
    answers = Answers()
    for locale in sorted(messages):
        language = _SAME.get(locale, locale)
        if language not in _KNOWN:
            continue
        shuffled = random.Random(locale).sample(messages[locale], len(messages[locale]))
        for _, text in zip(range(_TEXTS), join_messages(shuffled, letters), strict=False):
            answer, seconds = find(text)
            answers.add(language, _SAME.get(answer, answer))
            answers.seconds += seconds
    return answers


def measure_pages(signer: Signer, messages_of_pages: Iterable[tuple[str, str, bytes]]) -> dict[str, SignedPage]:
    """Sign pages (name, language, body), print how often the language is right, and return those that could be signed."""
    signed = {}
    answers: dict[PageKind, Answers] = defaultdict(Answers)
    for name, language, body in messages_of_pages:
        page, _ = signer.sign("http://localhost/", body, encoding=None, key=name, scope=None)
        if not page.unsigned:
            signed[name] = page
            answers[page.kind].add(language, page.scope.removeprefix("language "))
    for kind, counted in sorted(answers.items()):
        print(counted.row(f"  {kind.name.lower()} pages"))
    return signed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("catalogues", type=Path, nargs="?", default=Path("/usr/share/locale"), metavar="FOLDER")
    messages = read_messages(parser.parse_args().catalogues)
    signer = Signer(Config(tokenizer="bigrams"))

    def ours(text: str) -> tuple[str, float]:
        tokenised = signer.text_of(text)
        plain, tokens = tokenised.plain, tokenised.tokens  # the filter computes them in any case
        began = time.process_time()
        return find_language(plain, tokens), time.process_time() - began

    print(f"{'texts':34} {'number':>6} {'right':>7} {'?':>7} {'ms':>6}  wrong most often")
    for letters in (200, 1000):
        ours("a text, so that the tables are loaded")
        print(measure_messages(messages, letters, ours).row(f"messages, {letters:,} letters"))
    print_peer(messages)
    print("saved sites")
    sites = (page for page in documents() if page["lang"] in ("en", "zh"))
    signed = measure_pages(signer, ((page["id"], page["lang"], saved(DATA / page["html"])) for page in sites))
    pairs = [(pair["id_a"], pair["id_b"]) for pair in labelled_pairs() if pair["label"] == 1]
    both = [(signed[first].scope, signed[second].scope) for first, second in pairs if {first, second} <= signed.keys()]
    print(f"  pairs of duplicates in one language: {sum(a == b for a, b in both)} of {len(both)}")
    print("pages of seven kinds, all taken for English")
    measure_pages(signer, ((page.id, "en", page.body) for page in read_pages(KINDS_OF_PAGES)))


def print_peer(messages: dict[str, list[str]]) -> None:
    try:
        from py3langid import classify  # noqa: PLC0415  (slow, and may be absent)
    except ImportError:
        return

    def peer(text: str) -> tuple[str, float]:
        began = time.process_time()
        return classify(text)[0], time.process_time() - began

    began = time.process_time()
    peer("a text, so that the model is loaded")
    print(f"py3langid, loaded in {time.process_time() - began:.2f} s")
    for letters in (200, 1000):
        print(measure_messages(messages, letters, peer).row(f"  messages, {letters:,} letters"))


if __name__ == "__main__":
    main()
