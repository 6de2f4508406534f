"""What a desk put on record, told so that two runs tell the same.

Times, digests and names that come from a clock or a leaf are replaced: a digest by where it
was first seen, so that the same one stays the same one; wall time by a word.
"""

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from audit.records.kinds import Kind
from audit.records.record import Record

_NAME = re.compile(r"\b[0-9a-f]{64}\b|\b[A-Z2-7]{20}\b")
_TIME = re.compile(r"\b20\d{6}-\d\d:\d\d:\d\d(\.\d+)?")
_DAY = re.compile(r"\b20(?:19|[2-9]\d)(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])\b")
_SUM = re.compile(r"\x0110=\d{3}\x01|\x019=\d+\x01")
_LEFT_OUT = frozenset(
    {"policy", "signatures", "heads", "versions", "git", "press_id", "raw_digest", "boot_id"}
)
_MEASURED = frozenset({"decision_to_wire_us", "pressed_us", "confirmed_us", "elapsed_us"})
_2019_US = 1_546_300_800_000_000
_2018_US = 1_514_764_800_000_000


class Story:
    """Tells records; remembers the digests that it has met."""

    def __init__(self) -> None:
        """Start with none."""
        self._names: dict[str, str] = {}
        self._seen: Counter[str] = Counter()

    def told(self, records: Iterable[Record]) -> list[dict[str, Any]]:
        """Return the records, one plain document each."""
        return [
            {
                "kind": one.kind.value,
                "actor": one.actor,
                "body": self._value(one.kind.value, "", one.body),
                "stream": self._text("stream", one.stream),
                "key": self._text("key", one.idem_key),
            }
            for one in records
            if one.kind not in {Kind.STREAM_HEADS, Kind.RUN_STARTED}
        ]

    def after(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return what stands at the end, told likewise."""
        return {"after": self._value("after", "", document)}

    def _value(self, place: str, name: str, value: Any) -> Any:  # noqa: ANN401 - any JSON
        match value:
            case dict():
                return {
                    key: self._value(f"{place}.{key}", key, item)
                    for key, item in sorted(value.items())
                    if key not in _LEFT_OUT | _MEASURED
                }
            case list():
                return [self._value(place, name, item) for item in value]
            case str():
                return self._text(place, value)
            case bool() | None:
                return value
            case int() if name.endswith("_us") or value > _2018_US:
                return _time(value)
            case _:
                return value

    def _text(self, place: str, text: str) -> str:
        text = _DAY.sub("today", _SUM.sub("\x01", _TIME.sub("time", text)))
        text = _NAME.sub(lambda found: self._name(place, found.group()), text)
        return re.sub(r"\d{13,}", "n", text)

    def _name(self, place: str, digest: str) -> str:
        if digest not in self._names:
            self._seen[place] += 1
            self._names[digest] = f"#{place}{self._seen[place]}"
        return self._names[digest]


def _time(value: int) -> str:
    if value < _2018_US:
        return str(value)
    if value >= _2019_US:
        return "now"
    return dt.datetime.fromtimestamp(value / 1e6, tz=dt.UTC).isoformat()


def missing(told: Any, expected: Any, place: str = "") -> list[str]:  # noqa: ANN401 - any JSON
    """Return where a story is not as expected; fields that are new are no difference."""
    if isinstance(expected, dict) and isinstance(told, dict):
        found = [f"{place}.{key}: gone" for key in expected if key not in told]
        for key in expected.keys() & told.keys():
            found += missing(told[key], expected[key], f"{place}.{key}")
        return found
    if isinstance(expected, list) and isinstance(told, list) and len(expected) == len(told):
        return [
            line
            for number, (one, other) in enumerate(zip(told, expected, strict=True))
            for line in missing(one, other, f"{place}[{number}]")
        ]
    return [] if told == expected else [f"{place}: {str(told)[:150]}, not {str(expected)[:150]}"]
