import random
from itertools import product

import pytest

from crawler_dedup.signing.text import pack_text, unpack_text
from crawler_dedup.system.compression import FrameDamaged, compress, decompress, zstd

CONTENT = random.Random(1).randbytes(3_000) * 100
FRAME = compress(CONTENT)


def test_compressed_content_is_decompressed_to_the_same() -> None:
    for size, level, checksum in product([1, 1_000, 100_000, 5_000_000], [3, 9], [False, True]):
        content = (CONTENT * (size // len(CONTENT) + 1))[:size]
        frame = compress(content, level, checksum=checksum)
        assert zstd.get_frame_info(frame).decompressed_size == size
        assert decompress(frame, size) == content
        with pytest.raises(FrameDamaged):
            decompress(frame, size - 1)


def test_a_frame_that_another_program_wrote_is_read() -> None:
    # "crawler" by zstandard 0.25.0 (libzstd 1.5.7)
    assert decompress(bytes.fromhex("28b52ffd2007390000637261776c6572"), 7) == b"crawler"


def test_a_frame_without_its_size_is_refused() -> None:
    frame = zstd.compress(CONTENT, options={zstd.CompressionParameter.content_size_flag: 0})
    with pytest.raises(FrameDamaged):
        decompress(frame, 1 << 30)


def test_anything_but_one_complete_frame_is_refused() -> None:
    for frame in [b"", b"\x28\xb5\x2f\xfd", FRAME[:-1], FRAME + b"\0", FRAME + FRAME, b"text" * 100]:
        with pytest.raises(FrameDamaged):
            decompress(frame, 1 << 30)
        assert unpack_text(frame) == ""


def test_a_changed_byte_is_detected_or_changes_only_the_content() -> None:
    source = random.Random(2)
    for _ in range(200):
        frame = bytearray(FRAME)
        frame[source.randrange(len(frame))] ^= 1 << source.randrange(8)
        try:
            content = decompress(bytes(frame), len(CONTENT))
        except FrameDamaged:
            continue
        assert len(content) <= len(CONTENT)


@pytest.mark.parametrize("text", ["", "tea", "茶馆 🍵", "a\ud800b"])
def test_a_stored_text_is_read_back(text: str) -> None:
    assert unpack_text(pack_text(text)) == text.encode("utf-8", "replace").decode()
