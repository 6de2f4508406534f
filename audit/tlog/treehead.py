"""The text of a checkpoint: a log's origin, its size, its root and extension lines. Pure.

An origin is any line of 1 to 255 bytes, the range that a cosigner of type 0x06 can sign; the spec
allows spaces and plus signs.

Not here: the signatures of logs (`checkpoint`) and witnesses (`cosignature`).

Source: https://c2sp.org/tlog-checkpoint
"""

import base64
import re
from dataclasses import dataclass

from audit.errors import NoteError
from audit.tlog.merkle import HASH_BYTES
from audit.tlog.note import check_text, decode_base64

SIZE_MAX = 2**63 - 1
ORIGIN_BYTES_MAX = 255
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeHead:
    """The content of a checkpoint's text."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    def to_text(self) -> str:
        """Return the text to sign."""
        lines = (self.origin, str(self.size), base64.b64encode(self.root).decode())
        return "".join(f"{line}\n" for line in (*lines, *self.extensions))


def parse_tree_head(text: str) -> TreeHead:
    """Read a checkpoint's text, raising NoteError for anything else; keep extension lines."""
    check_text(text)
    lines = text.split("\n")[:-1]
    if len(lines) < 3 or "" in lines:  # noqa: PLR2004 - origin, size, root
        raise NoteError("checkpoint needs origin, size and root, and no empty line")
    origin, size, root = lines[:3]
    if len(origin.encode()) > ORIGIN_BYTES_MAX:
        raise NoteError(f"checkpoint's origin has more than {ORIGIN_BYTES_MAX} bytes")
    digest = decode_base64(root)
    if len(digest) != HASH_BYTES:
        raise NoteError("checkpoint root is not a SHA-256 hash")
    return TreeHead(origin=origin, size=parse_size(size), root=digest, extensions=tuple(lines[3:]))


def parse_size(text: str) -> int:
    """Read a decimal of at most 2^63 - 1, without sign or leading zeros, or raise NoteError."""
    if not _DECIMAL.fullmatch(text) or int(text) > SIZE_MAX:
        raise NoteError(f"{text[:30]!r} is not a plain decimal below 2^63")
    return int(text)
