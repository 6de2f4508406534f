"""Cancelling what is live: mass cancel first, then single cancels, largest first, paced. Pure.

Not here: sending, and when to sweep; a kill and a gateway that is gone sweep alike. Rules:

- A mass cancel (q) goes first where the broker knows it; single cancels (F) follow after a short
  grace, so a broker that ignores q costs no time that matters. A broker that accepts it gets a
  little longer to carry it out; one that refuses it gets the single cancels at once.
- Largest value first: what is stopped last should hurt least.
- An order that is not gone is asked for (H) and cancelled again after one second, then two, four.
- The outcome tells confirmed (nothing left), open (the broker answers, it still works) and unknown
  (no answer) apart; only all confirmed is done.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from fix.identity import sweep_id
from fix.journal import LiveOrder
from fix.messages import Fields, cancel, mass_cancel, status_request
from fix.profile import Profile

GRACE_US = 50_000
ACCEPTED_GRACE_US = 500_000
RETRY_US = 1_000_000
_QTY, _PRICE = 38, 44


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOutcome:
    """What became of the live orders, as ClOrdIDs."""

    confirmed: tuple[str, ...]
    unknown: tuple[str, ...]
    open: tuple[str, ...]

    @property
    def is_done(self) -> bool:
        """Whether nothing may still trade."""
        return not self.unknown and not self.open


def largest_first(orders: Iterable[LiveOrder]) -> tuple[LiveOrder, ...]:
    """Return the orders by value, largest first; an unreadable value counts as the largest."""
    return tuple(sorted(orders, key=lambda order: (-_value(order.fields), order.cl_ord_id)))


def _value(fields: Fields) -> Decimal:
    sent = dict(fields)
    try:
        return Decimal(sent[_QTY]) * Decimal(sent[_PRICE])
    except (KeyError, InvalidOperation):
        return Decimal("Infinity")


class Sweep:
    """One sweep over the orders that were live when it began."""

    def __init__(
        self, orders: Iterable[LiveOrder], profile: Profile, *, attempt: int, now_us: int
    ) -> None:
        """Begin.

        Args:
            orders: what may be working.
            profile: whether q is understood, and the pace.
            attempt: differs between sweeps, so that no message id is used twice.
            now_us: monotonic microseconds.
        """
        self._orders = {order.cl_ord_id: order for order in largest_first(orders)}
        self._profile = profile
        self._attempt = attempt
        self._started_us = now_us
        self._used = 0
        self._mass_due = profile.capabilities.mass_cancel and bool(self._orders)
        first = now_us + (GRACE_US if self._mass_due else 0)
        self._next_us = dict.fromkeys(self._orders, first)
        self._rounds = dict.fromkeys(self._orders, 0)
        self._confirmed: dict[str, None] = {}
        self._answered: set[str] = set()

    def due(self, now_us: int, wall_us: int) -> tuple[Fields, ...]:
        """Return what is to be sent now, within the pace; call again soon."""
        messages: list[Fields] = []
        if self._mass_due:
            self._mass_due = False
            self._used += 1
            mass_id = sweep_id("q", "", self._attempt)
            messages.append(mass_cancel(cancel_id=mass_id, transact_time_us=wall_us))
        for cl_ord_id, order in self._orders.items():
            if cl_ord_id in self._confirmed or self._next_us[cl_ord_id] > now_us:
                continue
            if not self._may_send(now_us):
                break
            messages += self._cancel_again(cl_ord_id, order, now_us, wall_us)
        return tuple(messages)

    def answered(self, cl_ord_id: str) -> None:
        """Note that the broker said something about this order since the sweep began."""
        if cl_ord_id in self._orders:
            self._answered.add(cl_ord_id)

    def closed(self, cl_ord_id: str) -> None:
        """Note that nothing of this order is left."""
        if cl_ord_id in self._orders:
            self._confirmed[cl_ord_id] = None

    def mass_answered(self, now_us: int, *, accepted: bool) -> None:
        """Note the broker's answer to the mass cancel: wait for its cancels, or go on at once."""
        next_us = now_us + (ACCEPTED_GRACE_US if accepted else 0)
        for cl_ord_id, rounds in self._rounds.items():
            if rounds == 0:
                self._next_us[cl_ord_id] = next_us

    def is_over(self, now_us: int) -> bool:
        """Whether all is confirmed, or the profile's patience is at its end."""
        late = now_us - self._started_us >= self._profile.pace.sweep_timeout_s * 1_000_000
        return late or len(self._confirmed) == len(self._orders)

    def outcome(self) -> SweepOutcome:
        """Return what is known now."""
        rest = [cl_ord_id for cl_ord_id in self._orders if cl_ord_id not in self._confirmed]
        return SweepOutcome(
            confirmed=tuple(self._confirmed),
            unknown=tuple(one for one in rest if one not in self._answered),
            open=tuple(one for one in rest if one in self._answered),
        )

    def _may_send(self, now_us: int) -> bool:
        pace = self._profile.pace
        allowed = pace.cancel_burst + pace.cancels_per_s * (now_us - self._started_us) // 1_000_000
        return self._used < allowed

    def _cancel_again(
        self, cl_ord_id: str, order: LiveOrder, now_us: int, wall_us: int
    ) -> list[Fields]:
        attempt = self._attempt * 1000 + self._rounds[cl_ord_id]
        messages = [status_request(order.fields)] if self._rounds[cl_ord_id] else []
        cancel_id = sweep_id("F", cl_ord_id, attempt)
        messages.append(cancel(order.fields, cancel_id=cancel_id, transact_time_us=wall_us))
        self._next_us[cl_ord_id] = now_us + (RETRY_US << min(self._rounds[cl_ord_id], 5))
        self._rounds[cl_ord_id] += 1
        self._used += len(messages)
        return messages
