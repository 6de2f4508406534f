"""What the account sent, quoted and published, as rules about habit, pace and conduct read it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SentOrder:
    """One order that was sent: its quantity, and its value at its limit in minor units."""

    lots: int
    value_minor: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFill:
    """An execution; `decision_id` is empty if no order of ours is known for it."""

    decision_id: str
    side: str
    lots: int
    price_ticks: int
    time_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """What of an order was never executed when it ended, and how long the order had lived."""

    decision_id: str
    side: str
    lots: int
    rest_us: int
    time_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """The account's recent past, at the time of the verdict.

    Attributes:
        as_of_us: Time of the latest event counted.
        orders: The last fifty orders sent in the intent's instrument, oldest first.
        day_lots: Lots sent in that instrument since the day began.
        messages_second: Messages in the second that ends now.
        messages_window: Messages in the half minute that ends now.
        fills_window: Executions in the same half minute.
        messages_day: Messages since the day began.
        fills_day: Executions since the day began.
        orders_day: Orders sent since the day began.
        brief_day: Of them, those that ended unexecuted within a second of being sent.
        bursts_day: For each size in `BURST_SIZES`, how often in the day so many messages fell
            within one second; no message counts twice for one size.
        own_messages_second: Messages in the intent's instrument in the second that ends now.
        own_fills: The last hundred executions in that instrument in ten minutes, oldest first.
        withdrawn: The last hundred orders in it that ended in half a minute with a rest.
    """

    as_of_us: int
    orders: tuple[SentOrder, ...]
    day_lots: int
    messages_second: int
    messages_window: int
    fills_window: int
    messages_day: int
    fills_day: int
    orders_day: int
    brief_day: int
    bursts_day: tuple[int, ...]
    own_messages_second: int
    own_fills: tuple[OwnFill, ...]
    withdrawn: tuple[Withdrawn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quoting:
    """How long the account quoted both sides of the intent's instrument today.

    Attributes:
        continuous_us: Continuous trading so far.
        two_way_us: Of it, the time with own open orders on both sides.
    """

    continuous_us: int
    two_way_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnAct:
    """The firm's own publication or statement to the media on an instrument, on record."""

    instrument: str
    seq: int
    time_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Publications:
    """The firm's own acts on the intent's instrument, by time; of many the latest twenty."""

    basis_seq: int
    acts: tuple[OwnAct, ...]
