"""Numbers and times as a person reads them; most are also filters of the templates."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from jinja2 import pass_context
from jinja2.runtime import Context

from risk.forms.money import minor_digits

DASH = "–"
_FINE_MS, _MINUTES_MS = 10_000, 180_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def when(time_us: int | None) -> str:
    """Return microseconds UTC as `2018-01-02 14:30:00 UTC`."""
    if time_us is None:
        return DASH
    return f"{_EPOCH + timedelta(microseconds=time_us):%Y-%m-%d %H:%M:%S} UTC"


def exactly(time_us: int | None) -> str:
    """Return microseconds UTC with all six digits."""
    if time_us is None:
        return DASH
    return f"{_EPOCH + timedelta(microseconds=time_us):%Y-%m-%d %H:%M:%S.%f}"


def day(time_us: int | None) -> str:
    """Return the UTC date of a time."""
    return DASH if time_us is None else f"{_EPOCH + timedelta(microseconds=time_us):%Y-%m-%d}"


def price(ticks: int | None, tick_minor: int = 1, currency: str = "USD") -> str:
    """Return a price in ticks of so many minor units of a currency as decimal text."""
    return DASH if ticks is None else major(ticks * tick_minor, currency)


def money(minor: int | None, currency: str = "USD") -> str:
    """Return minor units of a currency as decimal text, signed only when negative."""
    return DASH if minor is None else major(minor, currency).replace("-", "−")


def signed_money(minor: int | None, currency: str = "USD") -> str:
    """Return minor units of a currency as decimal text, always signed unless zero."""
    return DASH if minor is None else major(minor, currency, "+").replace("-", "−")


def major(minor: int, currency: str, sign: str = "") -> str:
    """Return minor units as decimal text with thousands separators."""
    digits = minor_digits(currency)
    return f"{Decimal(minor).scaleb(-digits):{sign},.{digits}f}"


def bp(value: int | None) -> str:
    """Return basis points as a percentage."""
    return DASH if value is None else f"{Decimal(value) / 100:.2f} %".replace("-", "−")


def signed_bp(value: int | None) -> str:
    """Return a difference in basis points as a signed percentage."""
    return DASH if value is None else f"{Decimal(value) / 100:+.2f} %".replace("-", "−")


def log_return(value_1e8: int | None) -> str:
    """Return a log return in 1e-8 as a signed percentage."""
    return (
        DASH if value_1e8 is None else f"{Decimal(value_1e8) / 1_000_000:+.3f} %".replace("-", "−")
    )


def volatility(value_1e8: int | None) -> str:
    """Return a standard deviation of log returns in 1e-8 as a percentage."""
    return (
        DASH if value_1e8 is None else f"{Decimal(value_1e8) / 1_000_000:.3f} %".replace("-", "−")
    )


def ago(age_ms: int | None) -> str:
    """Return an age in milliseconds as `0.4 s ago`, `12 s ago` or `5 min ago`."""
    if age_ms is None:
        return DASH
    if age_ms < _FINE_MS:
        return f"{age_ms / 1000:.1f} s ago"
    if age_ms < _MINUTES_MS:
        return f"{age_ms // 1000} s ago"
    return f"{age_ms // 60_000:,} min ago"


def countdown(seconds: int | None) -> str:
    """Return the seconds that are left as `4:10` or `1:02:03`."""
    if seconds is None:
        return DASH
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def whole(value: int | None) -> str:
    """Return an integer with thousands separators."""
    return DASH if value is None else f"{value:,}".replace("-", "−")


def short(digest: str | None) -> str:
    """Return the first twelve characters of a digest."""
    return digest[:12] if digest else DASH


def fix_text(raw: str) -> str:
    """Return a FIX message with its separator (SOH) shown as a bar."""
    return raw.replace("\x01", "|")


def words(name: str) -> str:
    """Return a name from a closed list as words."""
    return name.replace("_", " ").lower()


def duration(value_us: int) -> str:
    """Return microseconds in the unit that reads best: seconds, minutes or hours."""
    seconds = value_us / 1_000_000
    if abs(seconds) < 120:  # noqa: PLR2004 - up to two minutes
        text = f"{seconds:,.3f} s"
    elif abs(seconds) < 7200:  # noqa: PLR2004 - up to two hours
        text = f"{seconds / 60:,.1f} min"
    else:
        text = f"{seconds / 3600:,.1f} h"
    return text.replace("-", "−")


def milliseconds(value_us: int | None) -> str:
    """Return microseconds as milliseconds."""
    return DASH if value_us is None else f"{value_us / 1000:,.1f} ms"


def _in_the_books_money(shown: Callable[..., str]) -> Callable[..., str]:
    """Return a filter whose money is in the currency of the page's book.

    A template that imports a macro with money does it `with context`.
    """

    @pass_context
    def _filter(context: Context, value: int | None, *terms: int) -> str:
        frame = context.get("frame")
        return shown(value, *terms, currency="USD" if frame is None else frame.currency)

    return _filter


FILTERS: dict[str, Callable[..., str]] = {
    function.__name__: function
    for function in (
        when,
        exactly,
        day,
        bp,
        log_return,
        volatility,
        ago,
        countdown,
        whole,
        short,
        fix_text,
        words,
        milliseconds,
    )
}
FILTERS |= {one.__name__: _in_the_books_money(one) for one in (price, money, signed_money)}
