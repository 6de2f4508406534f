"""What a document may hold is what the types of its fields say, and nothing else."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any

import pytest

from risk.errors import DocumentError
from risk.forms.documents import document_of, value_of


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    LOW = 0
    HIGH = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    lots: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    name: str
    sent: bool
    count: int
    least: int | None
    colour: Colour
    level: Level
    inner: Inner
    maybe: Inner | None
    several: tuple[Inner, ...]
    words: tuple[str, ...]


FULL = Outer(
    name="a",
    sent=True,
    count=2**53,
    least=-1,
    colour=Colour.RED,
    level=Level.HIGH,
    inner=Inner(lots=3),
    maybe=None,
    several=(Inner(lots=4), Inner(lots=5)),
    words=("x", "y"),
)
WRITTEN: dict[str, Any] = {
    "name": "a",
    "sent": True,
    "count": "9007199254740992",
    "least": -1,
    "colour": "red",
    "level": "HIGH",
    "inner": {"lots": 3},
    "maybe": None,
    "several": [{"lots": 4}, {"lots": 5}],
    "words": ["x", "y"],
}


def test_a_value_is_written_as_its_types_say_and_read_back() -> None:
    assert document_of(FULL) == WRITTEN
    assert list(document_of(FULL)) == list(WRITTEN)
    assert value_of(Outer, WRITTEN) == FULL


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": 1}, "field name is not text"),
        ({"sent": 1}, "field sent is not true or false"),
        ({"count": True}, "field count is not an integer"),
        ({"count": 1.0}, "field count is not an integer"),
        ({"count": "5"}, "field count is not an integer"),
        ({"count": None}, "field count is not an integer"),
        ({"least": "x"}, "field least is not an integer"),
        ({"colour": "RED"}, "unknown colour"),
        ({"level": "7"}, "unknown level"),
        ({"level": 7}, "field level is not text"),
        ({"inner": None}, "expected an object"),
        ({"inner": {"lots": 3, "more": 1}}, "unknown field more"),
        ({"maybe": {}}, "field lots is missing"),
        ({"several": {}}, "field several is not a list"),
        ({"several": [None]}, "expected an object"),
        ({"words": ["x", 2]}, "field words is not text"),
        ({"beside": 1}, "unknown field beside"),
    ],
)
def test_another_type_an_unknown_name_or_field_is_refused(
    change: dict[str, Any], said: str
) -> None:
    with pytest.raises(DocumentError, match=said):
        value_of(Outer, WRITTEN | change)


@pytest.mark.parametrize("name", list(WRITTEN))
def test_every_field_must_be_there(name: str) -> None:
    rest = {key: value for key, value in WRITTEN.items() if key != name}
    with pytest.raises(DocumentError, match=f"field {name} is missing"):
        value_of(Outer, rest)


def test_a_number_that_is_none_is_not_written() -> None:
    broken: Any = 1.5
    with pytest.raises(DocumentError, match="an integer field"):
        document_of(Inner(lots=broken))


def test_a_type_that_has_no_document_is_a_mistake_of_the_program() -> None:
    @dataclass
    class Odd:
        price: float

    with pytest.raises(TypeError, match="no document"):
        document_of(Odd(price=1.0))
