"""Orders become fields exactly, and nothing else becomes an order."""

from dataclasses import replace

import pytest

from fix.dialects.engine_settings import initiator_settings
from fix.dialects.profile import OrderTags, parse_profile, profile_document
from fix.errors import MessageError, ProfileError
from fix.wire.fields import SOH
from fix.wire.identity import cl_ord_id, sweep_id
from fix.wire.messages import (
    Fields,
    cancel,
    decimal_text,
    mass_cancel,
    mass_status_request,
    new_order,
    parse,
    status_request,
    timestamp,
    wire_text,
)
from tests.doubles.fix_world import PROFILE, approved, leaf

TIME_US = 1_530_000_000_123_456


def as_text(fields: Fields) -> str:
    return "|".join(f"{tag}={value}" for tag, value in fields)


def order(**changes: object) -> Fields:
    return new_order(
        approved("golden", **changes),
        profile=PROFILE,
        tick_minor=1,
        lot=1,
        transact_time_us=TIME_US,
    )


def test_an_order_names_its_approving_record_in_twenty_characters() -> None:
    assert cl_ord_id(bytes(32)) == "A" * 20
    assert cl_ord_id(b"\xff" * 32) == "7" * 20
    assert cl_ord_id(leaf("x")) == cl_ord_id(leaf("x")[:13] + bytes(19))
    assert cl_ord_id(leaf("x")) != cl_ord_id(leaf("y"))


@pytest.mark.parametrize("length", [0, 31, 33])
def test_what_is_no_leaf_hash_names_nothing(length: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        cl_ord_id(bytes(length))


def test_every_message_of_a_sweep_has_its_own_id() -> None:
    ids = {sweep_id(kind, one, n) for kind in "FqH" for one in ("A", "B") for n in range(9)}
    assert len(ids) == 3 * 2 * 9
    assert {len(one) for one in ids} == {20}


def test_an_order_is_these_fields() -> None:
    assert as_text(order()) == (
        f"35=D|11={cl_ord_id(leaf('golden'))}|453=2|448=1001|447=P|452=122|2376=22|448=2001|447=P"
        "|452=12|2376=24|1=run-1|21=1|55=SPXN|54=1|60=20180626-08:00:00.123456|38=700|40=2"
        "|44=269.69|15=USD|59=0|528=P|1724=5|2593=1|2594=4|2595=Y"
    )


def test_a_profile_without_codes_leaves_parties_and_attributes_out() -> None:
    bare = PROFILE.model_copy(update={"tags": OrderTags(), "account": "HOUSE"})
    fields = dict(
        new_order(approved(), profile=bare, tick_minor=5, lot=10, transact_time_us=TIME_US)
    )
    assert not {453, 1724, 2593} & fields.keys()
    assert (fields[1], fields[38], fields[44]) == ("HOUSE", "7000", "1348.45")


def test_cancel_and_status_request_repeat_what_the_order_said() -> None:
    name = cl_ord_id(leaf("golden"))
    assert as_text(cancel(order(), cancel_id="C1", transact_time_us=TIME_US)) == (
        f"35=F|41={name}|11=C1|1=run-1|55=SPXN|54=1|38=700|60=20180626-08:00:00.123456"
    )
    assert as_text(status_request(order())) == f"35=H|1=run-1|11={name}|55=SPXN|54=1"
    assert as_text(mass_cancel(cancel_id="C2", transact_time_us=0)) == (
        "35=q|11=C2|530=7|60=19700101-00:00:00.000000"
    )
    assert as_text(mass_status_request(request_id="S1")) == "35=AF|584=S1|585=7"


@pytest.mark.parametrize("lacking", [11, 38, 54, 55])
def test_an_order_that_lacks_a_field_cannot_be_cancelled(lacking: int) -> None:
    fields = [pair for pair in order() if pair[0] != lacking]
    with pytest.raises(MessageError, match=f"tag {lacking}"):
        cancel(fields, cancel_id="C1", transact_time_us=TIME_US)


@pytest.mark.parametrize("text", ["a\x01b", "a\nb", "é", "a|\x00"])
def test_text_that_would_break_out_of_its_field_is_refused(text: str) -> None:
    with pytest.raises(MessageError, match="printable ASCII"):
        mass_cancel(cancel_id=text, transact_time_us=0)


@pytest.mark.parametrize("numbers", [{"tick_minor": 0}, {"lot": 0}, {"tick_minor": -1}])
def test_a_price_or_quantity_that_is_not_positive_is_refused(numbers: dict[str, int]) -> None:
    units = {"tick_minor": 1, "lot": 1} | numbers
    with pytest.raises(MessageError, match="positive"):
        new_order(approved(), profile=PROFILE, transact_time_us=TIME_US, **units)


@pytest.mark.parametrize("field", ["qty_lots", "limit_ticks"])
@pytest.mark.parametrize("number", [0, -1])
def test_an_order_for_nothing_or_at_no_price_is_refused(field: str, number: int) -> None:
    """Also where a fault elsewhere has emptied an order that was approved."""
    spoiled, changes = approved(), {field: number}
    object.__setattr__(spoiled, "intent", replace(spoiled.intent, **changes))  # type: ignore[arg-type]
    with pytest.raises(MessageError, match="quantity, price"):
        new_order(spoiled, profile=PROFILE, tick_minor=1, lot=1, transact_time_us=TIME_US)


@pytest.mark.parametrize(
    ("units", "digits", "text"),
    [(26958, 2, "269.58"), (5, 2, "0.05"), (-5, 2, "-0.05"), (10**18, 0, "1" + "0" * 18)],
)
def test_units_become_plain_decimal_text(units: int, digits: int, text: str) -> None:
    assert decimal_text(units, digits) == text


def test_time_is_written_to_the_microsecond() -> None:
    assert timestamp(0) == "19700101-00:00:00.000000"
    assert timestamp(TIME_US) == "20180626-08:00:00.123456"


GOOD = wire_text(((35, "0"), (34, "7"), (112, "x")))


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "8=FIX.4.4",
        GOOD[:-1],
        GOOD.replace("10=", "10=9", 1),
        GOOD.replace("9=", "9=0", 1),
        GOOD.replace("112=x", "112="),
        GOOD.replace("112=x", "0112=x"),
        GOOD.replace("112=x", "x=112"),
        GOOD.replace("34=7", "34=8"),
        GOOD + "58=after" + SOH,
        GOOD.replace("x", "\u0416"),
    ],
)
def test_bytes_that_are_no_message_are_refused(raw: str) -> None:
    with pytest.raises(MessageError):
        parse(raw)


def test_a_message_reads_back_as_it_was_written() -> None:
    assert parse(GOOD)[2:-1] == [(35, "0"), (34, "7"), (112, "x")]
    assert parse(GOOD.encode("latin-1")) == parse(GOOD)


def test_a_profile_reads_back_equal_and_unknown_fields_are_refused() -> None:
    document = profile_document(PROFILE)
    assert parse_profile(document) == PROFILE
    with pytest.raises(ProfileError, match="extra"):
        parse_profile(document.replace('"name"', '"extra":1,"name"', 1))
    with pytest.raises(ProfileError, match="port"):
        parse_profile(document.replace('"port":9878', '"port":"9878"'))
    with pytest.raises(ProfileError, match="sender_comp_id"):
        parse_profile(document.replace('"COUNTERSIGN"', '"A\\nResetOnLogon=Y"'))
    with pytest.raises(ProfileError):
        parse_profile(b"\xff\xfe")


def test_the_engine_is_told_to_keep_no_message_for_resending() -> None:
    lines = initiator_settings(PROFILE, store="s", log="l", dictionary="d").splitlines()
    assert "PersistMessages=N" in lines
    assert "ResetOnLogon=N" in lines


def test_nothing_has_no_sign() -> None:
    assert (decimal_text(0, 2), decimal_text(-1, 2), decimal_text(0, 0)) == ("0.00", "-0.01", "0")
