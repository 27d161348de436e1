"""The tables on which signatures depend: they stay as they are, and are what the packages say from which they were made."""

import re
import subprocess
import sys
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import pytest

from crawler_dedup.signing.features import normalise
from crawler_dedup.signing.initials import initial_of_each
from crawler_dedup.signing.signer import BEHAVIOUR
from crawler_dedup.signing.wordtables import READ_CODES, read_phrases, read_readings, simplified_forms, stop_words
from crawler_dedup.system.compression import decompress

ROOT = Path(__file__).parents[2]
DATA = ROOT / "crawler_dedup" / "data"
MADE = {
    "simplified.txt.zst": "OpenCC",
    "stopwords.txt.zst": "stopwordsiso",
    "readings.txt.zst": "pypinyin",
    "phrases.txt.zst": "pypinyin",
}


def digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:16]


def test_the_tables_are_the_golden_ones() -> None:
    """Another table makes other signatures, so that ``BEHAVIOUR`` has to rise."""
    assert BEHAVIOUR == 15
    assert digest("\n".join(sorted(stop_words())).encode()) == "38214b1c997626b7"
    assert digest(simplified_forms().astype("<u4").tobytes()) == "9d873fa9b9a4051f"
    assert digest("\n".join(read_readings()).encode()) == "50d2ba2d03cd7f42"
    assert digest("\n".join(map(" ".join, read_phrases())).encode()) == "309ea35981bfff34"
    characters = "".join(map(chr, range(0x110000)))
    assert digest(initial_of_each(characters).tobytes()) == "126ded0fe57cb588"


def test_the_stop_words_are_normalised() -> None:
    assert {normalise(word) for word in stop_words()} == stop_words()
    assert "" not in stop_words()


def test_every_common_character_has_a_reading() -> None:
    readings = read_readings()
    assert len(readings) == len(READ_CODES)
    assert all(re.fullmatch("[a-zêü]*", reading) for reading in readings)
    common = [bytes((row, cell)).decode("gb2312") for row in range(0xB0, 0xD7) for cell in range(0xA1, 0xFA)]
    assert all(readings[ord(character) - READ_CODES.start] for character in common)


@pytest.fixture(scope="module")
def tables_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    subprocess.run([sys.executable, "-m", "benchmarks.word_tables", folder], cwd=ROOT, check=True, timeout=120)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE)
def test_the_tables_equal_what_their_packages_say(tables_folder: Path, name: str) -> None:
    package = MADE[name]
    ours, theirs = (decompress((folder / name).read_bytes(), 1 << 24) for folder in (DATA, tables_folder))
    if f" {package} {version(package)} " not in (DATA / "README.md").read_text(encoding="utf-8"):
        pytest.skip(f"the table was made from another version of {package}")
    assert ours == theirs


def test_the_readme_names_each_file() -> None:
    readme = (DATA / "README.md").read_text(encoding="utf-8")
    for path in DATA.glob("*.zst"):
        assert f"| `{path.name}` |" in readme
