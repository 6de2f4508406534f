"""Which cancels to send for live orders, in which order and at which rate. Pure.

Not here: sending, and when a sweep begins and ends (`fix.orders.sweeper`).

Rules:
- A mass cancel (q) goes first if the broker supports it. Single cancels (F) follow after
  `GRACE_US`, after `ACCEPTED_GRACE_US` if the broker accepts it, and at once if it refuses.
- First cancels go before repeated ones, and the largest value goes first.
- An order that is not gone gets a status request (H) and another cancel after 1, 2, 4, then
  every 8 s while the sweep lasts.
- After a logon every cancel is repeated at once: the engine never resends what was lost. The same
  after a ResendRequest, because the engine answers it with one gap fill up to its newest number,
  which swallows cancels that have just left; and once more when that logon is proven.
- An order whose replace is unanswered is cancelled under both ClOrdIDs.
- An order that lives again (a bust, a reinstatement, a late acknowledgement) is cancelled at once.
  If it keeps coming back, the cancels wait 1, 2, 4, then 8 s (`Returns`).
- The outcome tells apart confirmed (nothing left), open (the broker answers, it still works) and
  unknown (no answer). A sweep is done only if all are confirmed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from fix.dialects.profile import Profile
from fix.orders.live import LiveOrder
from fix.wire.identity import sweep_id
from fix.wire.messages import Fields, cancel, mass_cancel, status_request

GRACE_US = 50_000
ACCEPTED_GRACE_US = 500_000
RETRY_US = 1_000_000
RETRY_DOUBLINGS_MAX = 3
_IDS_PER_ATTEMPT = 1_000_000
_SECOND_US = 1_000_000
_QTY, _PRICE = 38, 44


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOutcome:
    """ClOrdIDs of the live orders, by what became of them."""

    confirmed: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    open: tuple[str, ...] = ()

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


def mass_alone(attempt: int, wall_us: int) -> Fields:
    """Return a mass cancel that belongs to no sweep; `attempt` must be unused by any sweep."""
    mass_id = sweep_id("q", "", attempt * _IDS_PER_ATTEMPT)
    return mass_cancel(cancel_id=mass_id, transact_time_us=wall_us)


class Returns:
    """How often an order came back after it was gone, in one logon under one kill."""

    def __init__(self) -> None:
        self._cancelled_us: dict[str, int] = {}
        self._gone: set[str] = set()
        self._times: dict[str, int] = {}

    def clear(self) -> None:
        """Start over, as after a logon: earlier cancels may have been lost."""
        self._cancelled_us.clear()
        self._gone = set()
        self._times.clear()

    def see(self, live: Iterable[LiveOrder]) -> None:
        """Count the cancelled orders that are live again."""
        now = {order.cl_ord_id for order in live}
        for name in self._gone & now:
            self._times[name] = self._times.get(name, 0) + 1
        self._gone = self._cancelled_us.keys() - now

    def cancelled(self, name: str, now_us: int) -> None:
        """Note that a cancel of this order leaves."""
        self._cancelled_us[name] = now_us

    def due_us(self, name: str, now_us: int) -> int:
        """Return when a live order may be cancelled: now, unless it keeps coming back."""
        times = self._times.get(name, 0)
        if times <= 1:
            return now_us
        pause_us = RETRY_US << min(times - 2, RETRY_DOUBLINGS_MAX)
        return max(now_us, self._cancelled_us[name] + pause_us)


def _burst_us(profile: Profile) -> int:
    """Return the burst, less a tenth: the broker counts arrivals, which bunch a little."""
    burst = profile.pace.cancel_burst
    return (burst - burst // 10) * _SECOND_US


class Sweep:
    """One sweep over the orders that were live when it began and those that live again."""

    def __init__(
        self,
        orders: Iterable[LiveOrder],
        profile: Profile,
        *,
        attempt: int,
        now_us: int,
        returns: Returns | None = None,
        mass: bool = True,
    ) -> None:
        """Begin with the orders that may be working; `now_us` is monotonic.

        `attempt` is unique to a sweep, so that no message id is used twice. `returns` knows the
        orders that came back in earlier sweeps. `mass` allows a mass cancel.
        """
        self.may_mass = mass
        self._returns = returns or Returns()
        self._orders = {order.cl_ord_id: order for order in largest_first(orders)}
        self._profile = profile
        self._next_id = attempt * _IDS_PER_ATTEMPT
        self._tokens_us = _burst_us(profile)  # times messages per second
        self._filled_us = now_us
        self._mass_at_us: int | None = None
        self._next_us: dict[str, int] = {}
        self._rounds: dict[str, int] = {}
        self._confirmed: dict[str, None] = {}
        self._answered: set[str] = set()
        self._started_us = now_us
        self.renew(now_us)

    def renew(self, now_us: int) -> None:
        """Repeat every cancel from this time on, as after a logon."""
        self._started_us = now_us
        dues_us = {
            name: self._returns.due_us(name, now_us)
            for name in self._orders
            if name not in self._confirmed
        }
        mass = self._profile.capabilities.mass_cancel and self.may_mass and bool(dues_us)
        self._mass_at_us = min(dues_us.values()) if mass else None
        for name, due_us in dues_us.items():
            self._next_us[name], self._rounds[name] = due_us + (GRACE_US if mass else 0), 0
        self._answered -= dues_us.keys()

    def follow(self, live: Iterable[LiveOrder], now_us: int, *, takes_more: bool) -> None:
        """Confirm the orders that are not in `live`; `takes_more` adds unknown live ones."""
        now = {order.cl_ord_id: order for order in live}
        for name in self._orders:
            if name not in now:
                self._confirmed[name] = None
        known = (order for name, order in now.items() if name in self._orders)
        self.take_in([*known, *(now.values() if takes_more else ())], now_us)

    def take_in(self, orders: Iterable[LiveOrder], now_us: int) -> None:
        """Cancel these live orders too, unless they are being cancelled already."""
        for order in orders:
            name = order.cl_ord_id
            if name in self._orders and name not in self._confirmed:
                self._orders[name] = order  # a replace may have given it another ClOrdID
                continue
            self._confirmed.pop(name, None)
            self._orders[name] = order
            self._next_us[name] = self._returns.due_us(name, now_us)
            self._rounds[name] = 0
            self._answered.discard(name)

    def due(self, now_us: int, wall_us: int) -> tuple[Fields, ...]:
        """Return the messages to send now, within the rate; call again soon."""
        self._fill(now_us)
        messages: list[Fields] = []
        if not self.may_mass:
            self._mass_at_us = None
        if self._mass_at_us is not None and self._mass_at_us <= now_us:
            self._mass_at_us = None
            self._tokens_us -= _SECOND_US
            mass_id = sweep_id("q", "", self._new_id())
            messages.append(mass_cancel(cancel_id=mass_id, transact_time_us=wall_us))
            for name in self._orders.keys() - self._confirmed.keys():
                self._returns.cancelled(name, now_us)
        for name in sorted(self._orders, key=self._rounds.__getitem__):
            if name in self._confirmed or self._next_us[name] > now_us:
                continue
            if self._tokens_us < _SECOND_US:
                break
            messages += self._cancel_again(name, now_us, wall_us)
        return tuple(messages)

    def answered(self, cl_ord_id: str) -> None:
        """Note that the broker reported on this order since the sweep began."""
        if cl_ord_id in self._orders:
            self._answered.add(cl_ord_id)

    def closed(self, cl_ord_id: str) -> None:
        """Note that nothing of this order is left."""
        if cl_ord_id in self._orders:
            self._confirmed[cl_ord_id] = None

    def mass_answered(self, now_us: int, *, accepted: bool) -> None:
        """Note the answer to the mass cancel: wait for its cancels, or send single ones at once."""
        next_us = now_us + (ACCEPTED_GRACE_US if accepted else 0)
        for cl_ord_id, rounds in self._rounds.items():
            if rounds == 0:
                self._next_us[cl_ord_id] = next_us

    @property
    def is_done(self) -> bool:
        """Whether the broker confirmed every order gone."""
        return len(self._confirmed) == len(self._orders)

    def is_late(self, now_us: int) -> bool:
        """Return whether `sweep_timeout_s` has passed since the start or the last renewal."""
        return now_us - self._started_us >= self._profile.pace.sweep_timeout_s * _SECOND_US

    def outcome(self) -> SweepOutcome:
        """Return what is known so far."""
        rest = [cl_ord_id for cl_ord_id in self._orders if cl_ord_id not in self._confirmed]
        return SweepOutcome(
            confirmed=tuple(self._confirmed),
            unknown=tuple(one for one in rest if one not in self._answered),
            open=tuple(one for one in rest if one in self._answered),
        )

    def _fill(self, now_us: int) -> None:
        """Refill the token bucket for the time since the last call, up to the burst."""
        pace = self._profile.pace
        gained = max(0, now_us - self._filled_us) * pace.cancels_per_s
        self._tokens_us = min(_burst_us(self._profile), self._tokens_us + gained)
        self._filled_us = now_us

    def _new_id(self) -> int:
        self._next_id += 1
        return self._next_id

    def _cancel_again(self, name: str, now_us: int, wall_us: int) -> list[Fields]:
        order, rounds = self._orders[name], self._rounds[name]
        asks = rounds and self._profile.capabilities.order_status
        messages = [status_request(order.fields)] if asks else []
        for fields in filter(None, (order.asked, order.fields)):  # an unanswered replace: both
            cancel_id = sweep_id("F", name, self._new_id())
            messages.append(cancel(fields, cancel_id=cancel_id, transact_time_us=wall_us))
        self._returns.cancelled(name, now_us)
        self._next_us[name] = now_us + (RETRY_US << min(rounds, RETRY_DOUBLINGS_MAX))
        self._rounds[name] = rounds + 1
        self._tokens_us -= len(messages) * _SECOND_US
        return messages
