"""A record's payload as a page reads it: what is missing or odd is absent, never a crash."""

import pytest

from audit.records.canonical import JSON
from gateway.surfaces.web.views.body import Body


@pytest.mark.parametrize("odd", [None, 3, "text", True, [1], [{"a": 1}]])
def test_what_is_no_object_is_an_empty_one(odd: JSON) -> None:
    assert not Body(odd)
    assert Body({"a": odd}).child("a").fields == {}
    assert Body({}).child("a").fields == {}


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (7, 7),
        (-7, -7),
        ("7", 7),
        ("-12345678901234567890", -12345678901234567890),
        (True, None),
        (None, None),
        ("", None),
        ("-", None),
        ("--7", None),
        ("7.5", None),
        ("0x7", None),
        ([7], None),
    ],
)
def test_a_whole_number_is_one_also_as_decimal_text(value: JSON, read: int | None) -> None:
    assert Body({"n": value}).whole("n") == read
    assert Body({}).whole("n") is None


def test_each_field_is_read_by_its_type() -> None:
    body = Body({"t": "text", "n": 1, "f": True, "o": {"t": "in"}, "l": [{"t": "a"}, 2, True]})
    assert body
    assert (body.text("t"), body.text("n"), body.text("x", "else")) == ("text", "", "else")
    assert (body.flag("f"), body.flag("n"), body.flag("x")) == (True, False, False)
    assert body.child("o").text("t") == "in"
    assert [one.text("t") for one in body.children("l")] == ["a", "", ""]
    assert body.children("t") == body.children("x") == ()
    assert body.wholes("l") == (2,)
    assert body.wholes("t") == ()
    assert (body.fields.get("n"), body.fields.get("x")) == (1, None)
