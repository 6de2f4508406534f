"""Bytes to fields: the only place that cuts a message into its fields. Pure.

Rules:
- A data field (96, 355 and the like) is read by its length, so it may hold the delimiter. A length
  that does not end at a delimiter is wrong; the value then ends at the first one.
- Nothing raises but `check_frame`: what cannot be read is left out, and the rest is read.

Not here: what a message of one type needs (`reports`).

Source: FIX 4.4 volume 1, "Embedded delimiters: the data type"; volume 2, standard header.
"""

import re
from collections.abc import Sequence

from fix.dialects.data_tags import LENGTH_TAGS
from fix.errors import MessageError

SOH = "\x01"
MSG_TYPE = 35
_HEAD = re.compile(r"([1-9][0-9]{0,8})=")
_LENGTHS = re.compile(rf"(?:\A|{SOH})(?:{'|'.join(map(str, LENGTH_TAGS))})=")
_COUNT = re.compile(r"[0-9]{1,7}")
_CHECKSUM = re.compile(r"[0-9]{3}")
_TRAILER_LENGTH = 7


def parts_of(text: str) -> list[tuple[int, str]]:
    """Return (tag, value) of every part between delimiters; a part that is no field has tag 0.

    A text that ends with a delimiter has an empty last part, so the parts joined are the text.
    """
    parts: list[tuple[int, str]] = []
    has_data, data_tag, length, place = _LENGTHS.search(text) is not None, 0, 0, 0
    while place <= len(text):
        end = text.find(SOH, place)
        end = len(text) if end < 0 else end
        head = _HEAD.match(text, place, end)
        tag, begin = (int(head[1]), head.end()) if head else (0, place)
        if has_data:
            if tag == data_tag and tag and text[begin + length : begin + length + 1] == SOH:
                end = max(end, begin + length)
            value = text[begin:end]
            data_tag = LENGTH_TAGS.get(tag, 0) if _COUNT.fullmatch(value) else 0
            length = int(value) if data_tag else 0
        parts.append((tag, text[begin:end]))
        place = end + 1
    return parts


def fields_in(raw: str | bytes) -> list[tuple[int, str]]:
    """Return every field with a value that can be read in some bytes, in wire order."""
    text = raw.decode("latin-1") if isinstance(raw, bytes) else raw
    return [(tag, value) for tag, value in parts_of(text) if tag and value]


def read_message(raw: str | bytes) -> list[tuple[int, str]]:
    """Return every field of a message that can be read, after checking length and checksum.

    Empty fields, which some brokers send, and parts that are no fields are left out.

    Raises:
        MessageError: the frame is damaged, so that no value in it can be trusted.
    """
    text = raw.decode("latin-1") if isinstance(raw, bytes) else raw
    fields = fields_in(text)
    check_frame(text, fields)
    return fields


def check_frame(text: str, fields: Sequence[tuple[int, str]]) -> None:
    """Check first fields, BodyLength and CheckSum.

    Raises:
        MessageError: names the first fault.
    """
    if not text.endswith(SOH):
        raise MessageError(problem="does not end with a delimiter")
    if [tag for tag, _ in fields[:3]] != [8, 9, MSG_TYPE] or fields[-1][0] != 10:  # noqa: PLR2004
        raise MessageError(problem="does not begin with 8, 9, 35 or does not end with 10")
    head, body_and_trailer = f"8={fields[0][1]}{SOH}9={fields[1][1]}{SOH}", len(text)
    body_length = body_and_trailer - len(head) - _TRAILER_LENGTH
    if fields[1][1] != str(body_length):
        raise MessageError(problem=f"BodyLength says {fields[1][1][:12]}, counted {body_length}")
    if not text.isascii() and max(text) > "\xff":  # one byte each
        raise MessageError(problem="holds a character that is not one byte")
    expected = checksum(text[:-_TRAILER_LENGTH])
    if not _CHECKSUM.fullmatch(fields[-1][1]) or int(fields[-1][1]) != expected:
        raise MessageError(problem=f"CheckSum says {fields[-1][1][:12]}, counted {expected:03d}")


def checksum(text: str) -> int:
    """Return the sum of a text's bytes modulo 256, as CheckSum (10) counts it."""
    return sum(text.encode("latin-1")) % 256
