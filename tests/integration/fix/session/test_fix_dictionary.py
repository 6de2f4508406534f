"""Parse and write again is the identity for every message that we send, also for a resend."""

import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from fix.wire.fields import SOH
from fix.wire.messages import (
    Fields,
    cancel,
    mass_cancel,
    mass_status_request,
    parse,
    status_request,
    wire_text,
)
from tests.doubles.fix_world import order_fields

pytestmark = pytest.mark.broker
HEADER = ((49, "COUNTERSIGN"), (56, "EMSSIM"), (34, "12"), (52, "20180626-08:00:00.123456"))
Rewrite = Callable[[str, Path | None], str]


@pytest.fixture(scope="module")
def rewrite() -> Rewrite:
    """Read with quickfix and a dictionary, write again; importing it takes SIGINT, give it back."""
    before = signal.getsignal(signal.SIGINT)
    import quickfix  # noqa: PLC0415

    from fix.session.initiator import DICTIONARY  # noqa: PLC0415
    from fix.session.listener import wire_view  # noqa: PLC0415

    signal.signal(signal.SIGINT, before)

    def again(raw: str, dictionary: Path | None) -> str:
        words = quickfix.DataDictionary(str(dictionary or DICTIONARY))
        return wire_view(quickfix.Message(raw, words, True).toString())  # noqa: FBT003

    return again


def messages() -> dict[str, Fields]:
    order = order_fields()
    return {
        "D": order,
        "F": cancel(order, cancel_id="C" * 20, transact_time_us=1),
        "q": mass_cancel(cancel_id="M" * 20, transact_time_us=1),
        "H": status_request(order),
        "AF": mass_status_request(request_id="S" * 20),
    }


def on_the_wire(fields: Fields, rewrite: Rewrite, *more: tuple[int, str]) -> str:
    """The message as the engine sends it: header fields first, body in the engine's order."""
    return rewrite(wire_text((fields[0], *HEADER, *more, *fields[1:])), None)


@pytest.mark.parametrize("msg_type", ["D", "F", "q", "H", "AF"])
def test_reading_and_writing_changes_nothing(msg_type: str, rewrite: Rewrite) -> None:
    fields = messages()[msg_type]
    raw = on_the_wire(fields, rewrite)
    assert rewrite(raw, None) == raw
    assert sorted(parse(raw)[2:-1]) == sorted((*HEADER, *fields))


@pytest.mark.parametrize("msg_type", ["D", "F", "q", "H", "AF"])
def test_a_resend_carries_the_same_body(msg_type: str, rewrite: Rewrite) -> None:
    fields = messages()[msg_type]
    once = on_the_wire(fields, rewrite)
    again = on_the_wire(fields, rewrite, (43, "Y"), (122, "20180626-08:00:00.123456"))
    assert rewrite(again, None) == again
    assert body(again) == body(once)


def test_without_the_venues_party_field_the_parties_are_scrambled(
    rewrite: Rewrite, tmp_path: Path
) -> None:
    from fix.session.initiator import DICTIONARY  # noqa: PLC0415

    stock = tmp_path / "FIX44.xml"
    text = DICTIONARY.read_text()
    stock.write_text(re.sub(r" *<field name='PartyRoleQualifier' required='N' />\n", "", text))
    raw = on_the_wire(messages()["D"], rewrite)
    assert rewrite(raw, stock) != raw, "the tests above have no teeth"


def body(raw: str) -> str:
    kept = [f"{tag}={value}" for tag, value in parse(raw)[2:-1] if tag not in {43, 122}]
    return SOH.join(kept)
