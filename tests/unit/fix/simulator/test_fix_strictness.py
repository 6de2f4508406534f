"""The broker's dictionary: the gateway's, with types and values."""

from xml.etree import ElementTree as ET

import pytest
import quickfix

from fix.session.initiator import DICTIONARY
from fix.simulator.strictness import TYPES, VALUES, strict
from fix.wire.messages import wire_text
from tests.doubles.fix_world import order_fields


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> quickfix.DataDictionary:
    path = tmp_path_factory.mktemp("dictionary") / "strict.xml"
    path.write_bytes(strict(DICTIONARY.read_bytes()))
    return quickfix.DataDictionary(str(path))


def fields_of(dictionary: bytes) -> dict[int, ET.Element]:
    found = ET.fromstring(dictionary).iterfind("fields/field")  # noqa: S314 - our own file
    return {int(field.get("number", "0")): field for field in found}


def test_it_has_every_field_and_message_of_the_gateways_own() -> None:
    ours, theirs = DICTIONARY.read_bytes(), strict(DICTIONARY.read_bytes())
    assert {n: f.get("name") for n, f in fields_of(ours).items()} == {
        n: f.get("name") for n, f in fields_of(theirs).items()
    }
    assert ours.count(b"<message ") == theirs.count(b"<message ")


def test_it_changes_these_types_and_values_and_no_others() -> None:
    ours, theirs = fields_of(DICTIONARY.read_bytes()), fields_of(strict(DICTIONARY.read_bytes()))
    for number, field in theirs.items():
        assert field.get("type") == TYPES.get(number, ours[number].get("type"))
        assert [v.get("enum") for v in field] == VALUES.get(number, "").split()
    assert theirs.keys() >= TYPES.keys() | VALUES.keys(), "a rule for a field that is not there"


@pytest.mark.parametrize(
    ("tag", "value"),
    [(38, "+7"), (38, "many"), (44, "1,5"), (54, "9"), (59, "7"), (40, "w"), (60, "20260101")],
)
def test_our_orders_hold_and_a_wrong_value_does_not(
    tag: int, value: str, broker: quickfix.DataDictionary
) -> None:
    fields = order_fields()
    whole = ((34, "1"), (49, "A"), (52, "20260101-00:00:00"), (56, "B"), *fields[1:])
    sound = quickfix.Message(wire_text((fields[0], *whole)), broker, False)  # noqa: FBT003
    broker.validate(sound)
    wrong = tuple((t, value if t == tag else v) for t, v in whole)
    message = quickfix.Message(wire_text((fields[0], *wrong)), broker, False)  # noqa: FBT003
    with pytest.raises((quickfix.IncorrectDataFormat, quickfix.IncorrectTagValue)):
        broker.validate(message)
