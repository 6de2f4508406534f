"""Numbers in the bytes of a capture: LEB128 varints, little-endian floats, digests."""

import struct
from typing import Final

from inference.errors import CaptureError

DIGEST: Final = 32
"""Bytes of a SHA-256."""
DIRECT_MAGIC: Final = b"countersign.direct/1\n"
"""How the capture of a direct forecast begins."""
_VARINT_BITS: Final = 63


def varint(value: int) -> bytes:
    """Return a number as LEB128.

    Raises:
        ValueError: it is negative or has more than 70 bits.
    """
    if not 0 <= value < 1 << (_VARINT_BITS + 7):
        raise ValueError(f"{value} is not a varint")
    out = bytearray()
    while value > 0x7F:  # noqa: PLR2004 - seven bits a byte
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def digest_bytes(value: bytes) -> bytes:
    """Return a digest's bytes; raise `ValueError` unless there are 32."""
    if len(value) != DIGEST:
        raise ValueError("a digest has 32 bytes")
    return value


class CaptureFields:
    """Reads fields in order; raises `CaptureError` for what is missing or impossible."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data = data
        self._at = at

    def begins(self, line: bytes) -> bool:
        """Return whether the bytes begin with a line, wherever the reader is."""
        return self._data.startswith(line)

    @property
    def left(self) -> int:
        """Bytes not read yet."""
        return len(self._data) - self._at

    def take(self, n: int) -> bytes:
        """Return the next n bytes."""
        found = self._data[self._at : self._at + n]
        if len(found) != n:
            raise CaptureError("the capture is cut short")
        self._at += n
        return found

    def byte(self) -> int:
        """Return the next byte."""
        return self.take(1)[0]

    def varint(self) -> int:
        """Return the next varint."""
        value = 0
        for shift in range(0, _VARINT_BITS + 7, 7):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte <= 0x7F:  # noqa: PLR2004 - the last one
                return value
        raise CaptureError("a varint does not end")

    def floats(self, n: int) -> tuple[float, ...]:
        """Return the next n float32."""
        return struct.unpack(f"<{n}f", self.take(4 * n))

    def shorts(self, n: int) -> tuple[int, ...]:
        """Return the next n uint16."""
        return struct.unpack(f"<{n}H", self.take(2 * n))

    def double(self) -> float:
        """Return the next float64."""
        (value,) = struct.unpack("<d", self.take(8))
        return float(value)
