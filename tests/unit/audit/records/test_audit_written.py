"""Bytes that this process has encoded are believed; no others are."""

import pytest

from audit.errors import CanonicalError
from audit.records.canonical import WRITTEN_MAX, canonical, parse, written


def test_what_was_written_is_read_anew_each_time() -> None:
    data = written({"b": [1, {"c": None}], "a": "x"})
    first, again = parse(data), parse(data)
    assert first == again == {"a": "x", "b": [1, {"c": None}]}
    assert first is not again, "who reads may change what he has read"


@pytest.mark.parametrize("other", [b'{"b": 1}', b'{"b":1.0}', b'{"b":1,"a":2}', b'{"b":1}\n'])
def test_bytes_that_only_look_alike_are_refused(other: bytes) -> None:
    written({"b": 1})
    with pytest.raises(CanonicalError):
        parse(other)


def test_what_was_written_long_ago_is_checked_as_any_bytes() -> None:
    first = written({"n": 0})
    for number in range(1, 3 * WRITTEN_MAX):
        written({"n": number})
    assert parse(bytes(first)) == {"n": 0}
    assert canonical(parse(first)) == first
