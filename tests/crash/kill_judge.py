"""What a broker's own capture says about a kill. Pure; shares no code with what it judges.

The broker's reports tell where each order stands there: alive while LeavesQty (151) is above
nothing. Reports that are sent again (43=Y) say nothing new.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

GRACE_US = 2_000_000
_SOH = "\x01"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One message in the capture, as the broker noted it."""

    wall_us: int
    direction: str
    fields: dict[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """One stretch of time in which an order was alive at the broker; `end_us` 0: it still is."""

    cl_ord_id: str
    begin_us: int
    end_us: int


def seen(wall_us: int, direction: str, raw: str) -> Seen:
    """Return a captured message by its fields; of a repeated tag the first counts."""
    fields: dict[int, str] = {}
    for pair in raw.split(_SOH):
        tag, found, value = pair.partition("=")
        if found:
            fields.setdefault(int(tag), value)
    return Seen(wall_us=wall_us, direction=direction, fields=fields)


def sent_us(message: Seen) -> int:
    """Return the sender's own time (52) of a message, microseconds."""
    text = message.fields[52]
    form = "%Y%m%d-%H:%M:%S.%f" if "." in text else "%Y%m%d-%H:%M:%S"
    return int(datetime.strptime(text, form).replace(tzinfo=UTC).timestamp() * 1_000_000)


def lives(capture: Iterable[Seen]) -> list[Life]:
    """Return every stretch in which an order was alive, by the broker's first word for each."""
    alive: dict[str, int] = {}
    found: list[Life] = []
    for one in capture:
        fields = one.fields
        if one.direction != "out" or fields.get(35) != "8" or fields.get(43) == "Y":
            continue
        name = fields.get(41) or fields.get(11)
        if not name:  # the answer to a mass status request without orders
            continue
        working = any(digit in "123456789" for digit in fields.get(151, "0"))
        if working:
            alive.setdefault(name, one.wall_us)
        elif name in alive:
            found.append(Life(cl_ord_id=name, begin_us=alive.pop(name), end_us=one.wall_us))
    rest = [Life(cl_ord_id=name, begin_us=since, end_us=0) for name, since in alive.items()]
    return [*found, *rest]


def logon_after(capture: Iterable[Seen], moment_us: int) -> int:
    """Return when the broker first answered a logon after this moment, 0 if it never did."""
    answered = (
        one.wall_us
        for one in capture
        if one.direction == "out" and one.fields.get(35) == "A" and one.wall_us >= moment_us
    )
    return next(answered, 0)


def new_orders_after(capture: Iterable[Seen], acknowledged_us: int) -> list[str]:
    """Return the orders that left after the acknowledgement, by the time that they carry.

    What left before and stood in a silent line arrives late; that is not counted here.
    """
    return [
        one.fields[11]
        for one in capture
        if one.direction == "in"
        and one.fields.get(35) in {"D", "G"}
        and (sent_us(one) > acknowledged_us or one.fields.get(43) == "Y")
    ]


def outlived(capture: Iterable[Seen], logon_us: int, until_us: int) -> list[str]:
    """Return the orders that were alive later than 2 s after the logon, and for more than 2 s.

    Args:
        capture: the broker's.
        logon_us: the logon that followed the line's return, or its return where none was needed.
        until_us: when the capture was closed.
    """
    late = []
    for life in lives(capture):
        may_us = max(logon_us, life.begin_us) + GRACE_US
        if (life.end_us or until_us) > may_us:
            late.append(life.cl_ord_id)
    return sorted(late)
