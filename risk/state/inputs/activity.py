"""What the account sent and what was executed of it, as rules about habit and pace read it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SentOrder:
    """One order that was sent: its quantity, and its value at its limit in minor units."""

    lots: int
    value_minor: int


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
    """

    as_of_us: int
    orders: tuple[SentOrder, ...]
    day_lots: int
    messages_second: int
    messages_window: int
    fills_window: int
    messages_day: int
    fills_day: int
