"""A case, its outcome, and the run that it acts on.

A case acts, then waits for messages: a wait ends with the message or with the case failed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from fix.certification.evidence import SentLines
from fix.dialects.profile import Profile
from fix.errors import CertifyError
from fix.session.link import HandResult
from fix.wire.fields import MSG_TYPE
from fix.wire.messages import (
    CL_ORD_ID,
    ORIG_CL_ORD_ID,
    Fields,
    OrderWords,
    cancel_replace,
    limit_order,
)

WAIT_S: Final = 0.05
ENDED: Final = frozenset("248C")
"""OrdStatus (39) of an order that is over."""
_STATUS, _PRICE = 39, 44


class WireMessage(NamedTuple):
    """One message of the session; `ours` if we sent it. The first of a repeated field counts."""

    ours: bool
    fields: Mapping[int, str]

    def told(self) -> str:
        """Return the message for a report, without header and trailer."""
        body = [f"{t}={v}" for t, v in self.fields.items() if t not in {8, 9, 10, 49, 52, 56}]
        return f"{'we' if self.ours else 'they'}: {' '.join(body)}"


class SessionPort(Protocol):
    """The session under test, with one FIX child after the other."""

    def connect(self, *, skip: int = 0, forget: int = 0) -> None:
        """Log on and prove the logon.

        `skip` leaves so many of our numbers out; `forget` takes so many of the broker's as not
        received.

        Raises:
            CertifyError: no logon in time.
        """
        ...

    def disconnect(self) -> None:
        """Log out and end the child."""
        ...

    def cut(self) -> None:
        """Break the connection without a logout, and log on again.

        Raises:
            CertifyError: no logon in time.
        """
        ...

    def recover(self) -> None:
        """Log on unless the session is up.

        Raises:
            CertifyError: no logon in time.
        """
        ...

    def hand(self, fields: Fields) -> HandResult:
        """Send an order."""
        ...

    def send(self, fields: Fields) -> HandResult:
        """Send a cancel or a request."""
        ...

    def messages(self) -> list[WireMessage]:
        """Return every message of this run, in order."""
        ...

    def wall_us(self) -> int:
        """Return wall clock microseconds."""
        ...

    def monotonic_s(self) -> float:
        """Return monotonic seconds."""
        ...

    def pause(self, seconds: float) -> None:
        """Wait."""
        ...


class CaseOutcome(StrEnum):
    """How a case ended."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One case with its outcome; `seen` has the messages that went over the line meanwhile."""

    name: str
    expected: str
    outcome: CaseOutcome
    reason: str
    seen: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class CertifyRun:
    """What the cases of one run share."""

    profile: Profile
    session: SessionPort
    lines: SentLines
    patience_s: float
    case: str = ""
    mark: int = 0
    orders: dict[str, Fields] = field(default_factory=dict)
    """Every order that left, by ClOrdID."""
    resting: str = ""
    """The order of the case `new order`, while it works."""

    def order(self, *, quantity: int, price: str, symbol: str = "") -> str:
        """Record an order, then send it; return its ClOrdID.

        Raises:
            CertifyError: it did not leave.
        """
        terms = self.profile.certify
        if terms is None:
            raise CertifyError(problem="the profile has no [certify]: no order is sent")
        wish = {"symbol": symbol or terms.symbol, "quantity": str(quantity), "price": price}
        name = self.lines.add(self.case, {"message": "D", **wish}, self.session.wall_us())
        words = OrderWords(
            name=name,
            account=terms.account,
            instrument=wish["symbol"],
            side="1",
            quantity=wish["quantity"],
            price=price,
            time_in_force="0",
        )
        fields = limit_order(self.profile, words, self.session.wall_us())
        self.orders[name] = fields
        self._left(self.session.hand(fields))
        return name

    def replace(self, name: str, *, quantity: int) -> str:
        """Record a replace of an order's quantity, then send it; return its ClOrdID.

        Raises:
            CertifyError: it did not leave.
        """
        order, at_us = self.orders[name], self.session.wall_us()
        wish = {"message": "G", "about": name, "quantity": str(quantity)}
        fields = cancel_replace(
            order,
            replace_id=self.lines.add(self.case, wish, at_us),
            quantity=str(quantity),
            price=dict(order)[_PRICE],
            transact_time_us=at_us,
        )
        new = dict(fields)[CL_ORD_ID]
        self.orders[new] = fields  # a crash here leaves two names, and both are cancelled
        self._left(self.session.hand(fields))
        return new

    def request(self, message: str, about: str, make: Callable[[str], Fields]) -> str:
        """Record a cancel or request about an order, then send it; return its id.

        Raises:
            CertifyError: it did not leave.
        """
        wish = {"message": message, "about": about}
        name = self.lines.add(self.case, wish, self.session.wall_us())
        self._left(self.session.send(make(name)))
        return name

    def expect(
        self, what: str, wanted: Callable[[WireMessage], bool], patience_s: float = 0.0
    ) -> WireMessage:
        """Return the first message since the case began that is wanted.

        Raises:
            CertifyError: none came in time.
        """
        limit_s = patience_s or self.patience_s
        until_s = self.session.monotonic_s() + limit_s
        while True:
            found = next((one for one in self.since() if wanted(one)), None)
            if found is not None:
                return found
            if self.session.monotonic_s() > until_s:
                raise CertifyError(problem=f"no {what} in {limit_s:g} s")
            self.session.pause(WAIT_S)

    def status(self, name: str, *statuses: str) -> WireMessage:
        """Wait for a report since the case began that an order has one of these OrdStatus (39)."""
        said = " or ".join(f"39={one}" for one in statuses)
        return self.expect(
            f"report (8) with {said} for {name}",
            lambda one: is_about(one, name) and one.fields.get(_STATUS) in statuses,
        )

    def since(self) -> list[WireMessage]:
        """Return the messages since the case began."""
        return self.session.messages()[self.mark :]

    def open_orders(self) -> list[str]:
        """Return the orders that no report has ended."""
        ended = {
            name
            for name in self.orders
            for one in self.session.messages()
            if is_about(one, name) and one.fields.get(_STATUS) in ENDED
        }
        return [name for name in self.orders if name not in ended]

    def _left(self, result: HandResult) -> None:
        if result.outcome != "sent":
            raise CertifyError(problem=f"our session did not send it: {result.reason}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FixCase:
    """One case.

    Attributes:
        lacks: returns why the case does not apply, "" if it does.
        act: plays it; returns what was seen, in words.
    """

    name: str
    expected: str
    lacks: Callable[[CertifyRun], str]
    act: Callable[[CertifyRun], str]


def always(_: CertifyRun) -> str:
    """Return that nothing is lacking."""
    return ""


def is_about(one: WireMessage, name: str) -> bool:
    """Return whether a message is the broker's report about an order of this ClOrdID."""
    if one.ours or one.fields[MSG_TYPE] != "8":
        return False
    return name in {one.fields.get(CL_ORD_ID), one.fields.get(ORIG_CL_ORD_ID)}


def try_case(case: FixCase, run: CertifyRun) -> Tried:
    """Play one case and return what became of it."""
    run.case, run.mark = case.name, len(run.session.messages())
    reason, outcome = case.lacks(run), CaseOutcome.NOT_APPLICABLE
    if not reason:
        try:
            reason, outcome = case.act(run), CaseOutcome.PASS
        except CertifyError as error:
            reason, outcome = error.problem, CaseOutcome.FAIL
    seen = tuple(one.told() for one in run.since())
    return Tried(name=case.name, expected=case.expected, outcome=outcome, reason=reason, seen=seen)
