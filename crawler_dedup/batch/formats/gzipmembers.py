"""Read gzip files of many members, as WARC files are, also behind damaged members."""

from __future__ import annotations

import zlib
from collections import deque
from io import BytesIO
from typing import IO

MAGIC = b"\x1f\x8b\x08"
"""The first bytes of a member."""

_FIRST_RECORD = b"WARC/"
_GZIP = 16 + zlib.MAX_WBITS
_PIECE = 1 << 16
_HELD = 32 << 20  # decompressed bytes of a member that are held until its checksum is verified
_HEAD = 512  # compressed bytes that are enough to decompress the first bytes of a member
_ALLOWANCE = 1 << 20
# A WARC record ends with four bytes that are not its content. Without five bytes it is seen to be cut off.
_END = 5


class GzipMembers:
    """The content of a gzip file, as far as its members can be read, in parts that begin with a WARC record each.

    A part ends before a member that begins with a record, and where a member is damaged. Work is linear in the length of the
    file: bytes that several damaged members have in common are decompressed about twice.

    Attributes:
        damaged: the places in the file from which on something was skipped.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.damaged: list[int] = []
        self._file = file
        self._packed = bytearray()  # what was read from the file, from the place of the present member on
        self._place = 0
        self._content = BytesIO()
        self._long_member: zlib._Decompress | None = None
        self._is_stopped = False
        self._is_before_record = False  # whether the present content begins with a record of the next part
        self._failed_bytes = 0
        self._read_bytes = 0
        self._part_bytes = 0
        self._starts = deque([(0, 0)])  # positions in the content where members begin, and their places in the file

    def read(self, size: int) -> bytes:
        """Return content of the present part; ``b""`` at its end (:meth:`resume`)."""
        while not self._is_before_record and not (content := self._content.read(size)) and not self._is_stopped:
            place, is_new = self._place, self._long_member is None
            piece = self._read_member()
            self._content = BytesIO(piece)
            if is_new and piece:
                self._starts.append((self._read_bytes, place))
                self._is_before_record = self._part_bytes > 0 and piece.startswith(_FIRST_RECORD)
        if self._is_before_record:
            return b""
        self._read_bytes += len(content)
        self._part_bytes += len(content)
        return content

    def resume(self) -> bool:
        """Go to the next part, behind what is damaged; return whether there is one."""
        self._part_bytes = 0
        if self._is_before_record:
            self._is_before_record = False
            return True
        if not self._is_stopped:
            self.damaged.append(self._place)
        self._content, self._long_member = BytesIO(), None
        self._is_stopped = self._failed_bytes > 2 * (self._place + len(self._packed)) + _ALLOWANCE or not self._find()
        return not self._is_stopped

    def place_of(self, position: int) -> int:
        """Return the place in the file of the member with a position in the content. Positions must not descend."""
        while len(self._starts) > 1 and self._starts[1][0] <= position:
            self._starts.popleft()
        return self._starts[0][1]

    def look_ahead(self, offset: int, size: int) -> None:
        """Return bytes that are *offset* bytes ahead; ``None``, as here, if only reading can show them."""

    def _read_member(self) -> bytes:
        """Decompress a member, or some of a long one. Where it is damaged, return what comes before the damage."""
        content, used = bytearray(), 0
        member = self._long_member or zlib.decompressobj(_GZIP)
        try:
            while not member.eof and len(content) < _HELD:
                if used == len(self._packed) and not self._fill():
                    if not used and member is not self._long_member:  # the end of the file
                        self._is_stopped = True
                        return b""
                    raise EOFError
                piece = bytes(self._packed[used : used + _PIECE])
                content += member.decompress(piece, _HELD)
                used += len(piece) - len(member.unused_data if member.eof else member.unconsumed_tail)
        except (zlib.error, EOFError):
            self.damaged.append(self._place)
            self._is_stopped = True
            self._failed_bytes += used
            self._drop(1)  # the next member may begin before the place where the damage was noticed
            return bytes(content[:-_END])
        self._drop(used)
        self._long_member = None if member.eof else member
        return bytes(content)

    def _find(self) -> bool:
        """Go to the next member that begins with a WARC record; return whether there is one."""
        while True:
            place = self._packed.find(MAGIC)
            self._drop(place if place >= 0 else max(0, len(self._packed) - len(MAGIC) + 1))
            while len(self._packed) < _HEAD and self._fill():
                pass
            if self._packed.startswith(MAGIC):
                if _read_head(bytes(self._packed[:_HEAD])) == _FIRST_RECORD:
                    return True
                self._drop(1)
            elif MAGIC not in self._packed and not self._fill():
                return False

    def _fill(self) -> bool:
        piece = self._file.read(_PIECE)
        self._packed += piece
        return bool(piece)

    def _drop(self, count: int) -> None:
        del self._packed[:count]
        self._place += count


def _read_head(packed: bytes) -> bytes:
    """Return the first bytes of a member; ``b""`` if it cannot be read."""
    try:
        return zlib.decompressobj(_GZIP).decompress(packed, len(_FIRST_RECORD))
    except zlib.error:
        return b""
