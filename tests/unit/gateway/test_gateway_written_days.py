"""One parser of days: whatever is written, a day or a refusal that says how to write one."""

import datetime as dt

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.clock import LAST, date_of, day_of, days_between, range_us
from gateway.errors import RequestError

TEXTS = st.one_of(
    st.text(max_size=12),
    st.dates().map(str),
    st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", fullmatch=True),
)


@given(TEXTS, TEXTS)
@example("9999-12-31", "9999-12-31")
@example("0001-01-01", "0001-01-01")
@example("20261120", "2026-W47-5")
def test_two_texts_are_a_range_or_refused(first: str, last: str) -> None:
    """Repro r09: the last day of the calendar has no midnight after it."""
    try:
        begins, ends = range_us(first, last)
    except RequestError:
        return
    assert 0 <= begins < ends
    assert (date_of(begins), date_of(ends - 1)) == (first, last)


@pytest.mark.parametrize("text", ["", "x", "2026-13-01", "20261120", "1969-12-31", "9999-01-01"])
def test_what_is_no_day_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(RequestError, match="write 2026-11-20"):
        day_of(text)


def test_a_range_is_in_order_and_not_too_long() -> None:
    assert days_between("2026-11-20", "2026-11-20") == (dt.date(2026, 11, 20),) * 2
    assert day_of(str(LAST)) == LAST
    with pytest.raises(RequestError, match="earlier day first"):
        days_between("2026-11-21", "2026-11-20")
    with pytest.raises(RequestError, match="3660 days"):
        range_us("2016-01-01", "2026-11-20")
