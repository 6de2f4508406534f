import contextlib
import gzip
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import IntakeError
from gateway.feeds.intake import parse_daily_series, parse_events
from gateway.feeds.news.events import EVENTS_FILE

HEAD = b"Date,Open,High,Low,Close,Adj Close,Volume\n"
EVENTS = EVENTS_FILE.read_bytes()


@given(st.binary(max_size=300))
def test_any_bytes_are_a_series_or_our_error(data: bytes) -> None:
    for packed in (data, gzip.compress(data), gzip.compress(HEAD + data)):
        with contextlib.suppress(IntakeError):
            parse_daily_series(packed, name="any", ticks_per_unit=Decimal(10))


@given(
    st.lists(
        st.text(alphabet="0123456789./-,eEnNaifINF \"'", max_size=30), min_size=1, max_size=5
    ).map("\n".join)
)
def test_number_like_rows_never_make_a_price_that_is_not_positive(rows: str) -> None:
    with contextlib.suppress(IntakeError):
        series = parse_daily_series(
            gzip.compress(HEAD + rows.encode()), name="any", ticks_per_unit=Decimal(10)
        )
        for row in series.rows:
            assert 0 < row.low_ticks <= row.open_ticks <= row.high_ticks


@given(st.binary(max_size=300))
def test_any_bytes_are_an_event_file_or_our_error(data: bytes) -> None:
    with contextlib.suppress(IntakeError):
        parse_events(data, name="any")


@given(st.integers(0, len(EVENTS) - 1), st.binary(min_size=1, max_size=3))
def test_a_damaged_event_file_is_refused_or_stays_an_event_file(at: int, patch: bytes) -> None:
    damaged = EVENTS[:at] + patch + EVENTS[at + len(patch) :]
    with contextlib.suppress(IntakeError):
        parsed = parse_events(damaged, name="damaged")
        times = [event.published_us for event in parsed.events]
        assert times == sorted(times)
