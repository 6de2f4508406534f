"""An answer of the gateway as lines: format strings over its fields, and nothing more.

Rules:
- `_us` is a time, `_ppm` a share, a list its items with commas; `{live:n}` counts a list, and
  `{closes:10}` has its last ten.
- What the answer does not have is `-`.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from typing_extensions import override

from gateway.acts.verb import Verb

_PPM: Final = 1_000_000


class _Listed(list[Any]):
    @override
    def __format__(self, spec: str) -> str:
        if spec == "n":
            return str(len(self))
        return ", ".join(map(_item, self[-int(spec) :] if spec else self)) or "none"


class _Absent:
    """What an answer does not have, or leaves empty; also each part of it."""

    @override
    def __format__(self, _spec: str) -> str:
        return "-"

    def __getitem__(self, _name: str) -> "_Absent":
        return self


class _Fields(dict[str, Any]):
    """Fields for `format_map`; those of an object inside are `{sheet[instrument]}`."""

    @override
    def __getitem__(self, name: str) -> Any:
        return _shown(name, self.get(name))


def lines_of(verb: Verb, answer: Mapping[str, Any], known: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of an answer; `known` is what was asked, in which the answer's fields win."""
    if not verb.line:
        yield json.dumps(answer, indent=2)
        return
    whole = {**known, **answer}
    again = "on record before: " if answer.get("again") else ""
    if not verb.items:
        yield again + verb.line.format_map(_Fields(whole)).rstrip("\n")
        return
    if verb.head:
        yield verb.head.format_map(_Fields(whole))
    for one in answer[verb.items]:
        yield verb.line.format_map(_Fields({**whole, **one}))
    if not answer[verb.items] and verb.none:
        yield verb.none.format_map(_Fields(whole))


def _shown(name: str, value: Any) -> Any:  # noqa: ANN401 - JSON
    match value:
        case None | "":
            return _Absent()
        case bool():
            return "yes" if value else "no"
        case list():
            return _Listed(value)
        case dict():
            return _Fields(value)
        case int() if name.endswith("_us"):
            from gateway.feeds.live.calendars import when

            return when(value)
        case int() if name.endswith("_ppm"):
            return f"{value / _PPM:.2f}"
        case _:
            return value


def _item(one: Any) -> str:  # noqa: ANN401 - JSON
    """Return an item of a list: of a pair its value, of an object its texts."""
    if isinstance(one, list):
        return str(one[-1])
    if isinstance(one, dict):
        return " ".join(text for text in one.values() if isinstance(text, str) and text)
    return str(one)
