"""Do schemes find a text again in the wording of Taiwan, with and without synonyms? ``python -m benchmarks.wording``.

200 Chinese main texts of 300 characters or more are converted by OpenCC to the wording of Taiwan. Then they are converted
back by OpenCC's own list, which is the most that a list of synonyms can achieve: it has every word that was exchanged.
"""

from __future__ import annotations

import random
import statistics
from collections import Counter

import opencc

from benchmarks.data import sources
from crawler_dedup import Config
from crawler_dedup.errors import DedupError
from crawler_dedup.signing.signer import Signer
from tests.support.data import require_data, saved

_TEXTS = 200
_LEAST = 300
_SCHEMES = ("simhash", "minhash", "ddw", "imatch")


def chinese_texts(signer: Signer) -> list[str]:
    """Return main texts of saved Chinese pages in random order."""
    pages = [source for source in sources() if source.language == "zh" and source.is_long]
    random.Random(1).shuffle(pages)
    texts: list[str] = []
    for page in pages:
        try:
            text = signer.main_text(saved(page.file))
        except DedupError:
            continue
        if len(text) >= _LEAST:
            texts.append(text)
        if len(texts) == _TEXTS:
            break
    return texts


def count_agreeing(signer: Signer, kept: list[str], new: list[str]) -> int:
    """Count the texts of *new* that the scheme alone finds by *kept*, and that agree with the text they are made from."""
    scheme = signer.scheme
    signed = [(scheme.sign(signer.text_of(a)), scheme.sign(signer.text_of(b))) for a, b in zip(kept, new, strict=True)]
    return sum(scheme.finds(b, a) and scheme.compare(b, a) is not None for a, b in signed)


def main() -> None:
    require_data()
    signer = Signer(Config(tokenizer="rjieba"))
    texts = chinese_texts(signer)
    to_taiwan, to_mainland = opencc.OpenCC("s2twp"), opencc.OpenCC("tw2sp")
    worded = [to_taiwan.convert(text) for text in texts]
    folded = [to_mainland.convert(text) for text in worded]
    tokens = [tuple(Counter(signer.text_of(text).tokens) for text in both) for both in zip(texts, worded, strict=True)]
    changed = statistics.median(1 - (a & b).total() / a.total() for a, b in tokens)
    print(f"{len(texts)} texts, of whose words {changed:.1%} are others (median)")
    for name in _SCHEMES:
        of_scheme = Signer(Config(tokenizer="rjieba", scheme=name))
        shares = [count_agreeing(of_scheme, texts, new) / len(texts) for new in (worded, folded)]
        print(f"{name:8} {shares[0]:.3f} found, {shares[1]:.3f} if synonyms are folded")


if __name__ == "__main__":
    main()
