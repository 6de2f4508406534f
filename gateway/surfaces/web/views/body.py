"""Lenient reading of a record's payload: a missing or odd field is absent, never a crash.

Only for showing. Not here: the strict readers that decisions rest on (`gateway.walk.journal`).
"""

from collections.abc import Mapping
from typing import Final

from audit.records.canonical import JSON
from audit.records.kinds import Kind

_EMPTY: Final[dict[str, JSON]] = {}


class Body:
    """A JSON object, read by name and type."""

    def __init__(self, value: JSON) -> None:
        """Wrap a value; anything but an object reads as an empty object."""
        self.fields: Mapping[str, JSON] = value if isinstance(value, dict) else _EMPTY

    def __bool__(self) -> bool:
        return bool(self.fields)

    def text(self, name: str, default: str = "") -> str:
        """Return a text field, or `default`."""
        value = self.fields.get(name)
        return value if isinstance(value, str) else default

    def whole(self, name: str) -> int | None:
        """Return an integer, also from decimal text (the form of large ones), or None."""
        value = self.fields.get(name)
        if isinstance(value, str) and value.removeprefix("-").isdecimal():
            return int(value)
        return value if type(value) is int else None

    def flag(self, name: str) -> bool:
        """Return whether the field is true."""
        return self.fields.get(name) is True

    def child(self, name: str) -> "Body":
        """Return an object field, or an empty object."""
        return Body(self.fields.get(name))

    def children(self, name: str) -> tuple["Body", ...]:
        """Return the objects of a list field."""
        value = self.fields.get(name)
        return tuple(Body(item) for item in value) if isinstance(value, list) else ()

    def wholes(self, name: str) -> tuple[int, ...]:
        """Return the integers of a list field."""
        value = self.fields.get(name)
        return tuple(v for v in value if type(v) is int) if isinstance(value, list) else ()


def order_state(by_kind: Mapping[Kind, Body]) -> str:
    """Return what the newest of an order's records calls it; "" without an order."""
    if Kind.ORDER_REPORTED in by_kind:
        return by_kind[Kind.ORDER_REPORTED].text("order_state").lower()
    for kind in (Kind.ORDER_WITHDRAWN, Kind.ORDER_UNKNOWN, Kind.ORDER_REFUSED, Kind.ORDER_SENT):
        if kind in by_kind:
            return kind.value.removeprefix("order_")
    return "sending" if Kind.ORDER_SENDING in by_kind else ""
