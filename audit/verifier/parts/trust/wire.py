"""FIX messages as text: the one place that cuts one into its fields.

A data field (96, 355 and the like) is read by its length, so it may hold the mark. A length
that does not end at a mark is wrong; the value then ends at the first one. Of a tag that comes
twice the first counts.

Source: FIX 4.4 volume 1, "Embedded delimiters: the data type"; FIX 5.0 SP2, fields of type DATA.
"""

import re
from collections.abc import Iterable, Mapping

_LENGTHS = {
    90: 91, 93: 89, 95: 96, 212: 213, 348: 349, 350: 351, 352: 353, 354: 355, 356: 357, 358: 359,
    360: 361, 362: 363, 364: 365, 445: 446, 618: 619, 621: 622, 1184: 1185, 1277: 1278, 1280: 1281,
    1282: 1283, 1397: 1398, 1401: 1402, 1403: 1404, 1468: 1469, 1525: 1527, 1578: 1579, 1620: 1621,
    1664: 1665, 1678: 1697, 1733: 1734, 1871: 1872, 1874: 1875, 2072: 2073, 2074: 2075, 2111: 2112,
    2179: 2180, 2287: 2288, 2351: 2352, 2372: 2371, 2481: 2482, 2494: 2493, 2522: 2521, 2637: 2638,
    2651: 2652, 2665: 2666, 2715: 2716, 2718: 2719, 2721: 2722, 2797: 2798, 2802: 2801, 2809: 2808,
    2815: 2814,
}  # fmt: skip
DATA_FIELDS: Mapping[str, str] = {str(count): str(data) for count, data in _LENGTHS.items()}
"""Length field to its data field; the length counts bytes."""
_BEFORE_EXEC_TYPE = frozenset({"FIX.4.0", "FIX.4.1", "FIX.4.2"})
_TRANS_TYPES = {"1": "H", "2": "G", "3": "I"}
"""ExecTransType (20) as the ExecType (150) that FIX 4.3 put in its place; 0 is new."""
_LENGTH = re.compile(r"[0-9]{1,7}", re.ASCII)


def wire_fields(text: str, mark: str = "\x01") -> dict[str, str]:
    """Return a message's fields by tag."""
    return first_of_each(wire_pairs(text, mark))


def first_of_each(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the first value of each tag."""
    fields: dict[str, str] = {}
    for tag, value in pairs:
        fields.setdefault(tag, value)
    return fields


def wire_pairs(text: str, mark: str = "\x01") -> list[tuple[str, str]]:
    """Return a message's fields in their order."""
    pairs: list[tuple[str, str]] = []
    data_tag, length, place = "", 0, 0
    while place <= len(text):
        end = text.find(mark, place)
        end = len(text) if end < 0 else end
        cut = text.find("=", place, end)
        tag, begin = (text[place:cut], cut + 1) if cut >= 0 else ("", place)
        if tag and tag == data_tag and text[begin + length : begin + length + 1] == mark:
            end = max(end, begin + length)
        value = text[begin:end]
        data_tag = DATA_FIELDS.get(tag, "") if _LENGTH.fullmatch(value) else ""
        length = int(value) if data_tag else 0
        if tag:
            pairs.append((tag, value))
        place = end + 1
    return pairs


def exec_type_of(fields: Mapping[str, str]) -> str:
    """Return what a report tells: ExecType (150), which FIX 4.2 says in ExecTransType (20)."""
    if fields.get("8") in _BEFORE_EXEC_TYPE and fields.get("20") in _TRANS_TYPES:
        return _TRANS_TYPES[fields["20"]]
    return fields.get("150", "")
