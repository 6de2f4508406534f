"""An agent's intent held against the scope of its key: before any model call, and before it leaves.

The first check uses the market as it stands when the intent arrives. The forecast takes time and
the market moves, so the verdict's own order is checked again before it is sent; beyond the scope it
is withdrawn, on record (decision 056).

How often a key asks is counted in memory, before anybody waits for a turn: a refusal then costs no
look at the ledger (decision 222). It begins with what is on record, so a restart forgets nothing.

Not here: the scope's file (`gateway.installation.keys.scopes`), what was used (`mandates`).
"""

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.store.reader import LedgerReader
from gateway.desk.bodies.requests import IntentRequest
from gateway.desk.intake.intents import author_in
from gateway.errors import OutOfScopeError, OverBudgetError
from gateway.installation.keys.keyring import Caller, Keyring
from gateway.installation.keys.pace import MINUTE_US, KeyPace
from gateway.installation.keys.scopes import KeyScope
from gateway.walk.journal.control.scope import AgentScoped
from gateway.walk.journal.decision import IntentReceived
from gateway.walk.journal.verdict import VerdictGiven
from gateway.walk.ports import Tags
from gateway.walk.projections.asked import Going
from gateway.walk.projections.mandates import Mandates
from gateway.walk.section import Section
from risk.forms.money import minor_digits, money_text
from risk.intent import Side
from risk.sizing import Sizing

SHARED: Final = "agent"
"""The account, beside the run's own, of keys without a scope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """An order as a scope sees it; `used_minor` is what the key's day holds besides it.

    Money has `digits` decimals.
    """

    key: str
    instrument: str
    side: Side
    minor: int
    used_minor: int
    digits: int

    def money(self, minor: int) -> str:
        """Return money of the book as text."""
        return money_text(minor, self.digits)


@dataclass(slots=True)
class RatePlace:
    """What a caller may ask for now; given back unless it is used."""

    used: bool = False


@dataclass(slots=True)
class Scopes:
    """Holds intents against scopes, over one ledger; called under the desk's lock.

    `place` and `refuse_paced` are safe from any thread.
    """

    tags: Tags
    section: Section
    reader: LedgerReader
    keyring: Keyring
    _mandates: Mandates = field(init=False)
    _paces: dict[str, KeyPace] = field(default_factory=dict)
    _pacing: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._mandates = Mandates(self.reader)

    def open_accounts(self) -> None:
        """Open the accounts that scoped keys have used before.

        Raises:
            AuditError: the ledger cannot be read.
        """
        self._catch_up()
        for account in self._mandates.accounts(self.tags.account):
            self.section.open_beside(account, self.tags.account)

    def tags_of(self, caller: Caller) -> Tags:
        """Return the tags of a caller's decisions, with the account that its orders are booked in.

        The account of a scoped key is opened with the deposit of the run's own account.
        """
        scope = caller.scope
        account = f"{self.tags.account}.{SHARED if scope is None else scope.account}"
        self.section.open_beside(account, self.tags.account)
        return replace(self.tags, account=account)

    def records(self, caller: Caller, account: str) -> tuple[Draft, ...]:
        """Return the record of a caller's scope, to be written before its intent."""
        scope = caller.scope
        if scope is None:
            return ()
        scoped = AgentScoped(
            key=caller.name,
            account=account,
            scope=scope.document(),
            scope_digest=scope.digest,
        )
        return (scoped.draft(),)

    def refuse_paced(self, caller: Caller, count: int = 1) -> None:
        """Refuse what a key may not ask for yet; waits for nothing and counts nothing.

        Raises:
            OverBudgetError: says when the key may ask again.
        """
        scope, pace = caller.scope, self._paces.get(caller.name)
        if scope is not None and pace is not None:
            with self._pacing:
                _paced(scope, caller.name, pace, self.section.steady_us(), count)

    def count_refused(self, caller: Caller) -> None:
        """Count a new request that was refused before it had a place, as one that had."""
        scope, pace = caller.scope, self._paces.get(caller.name)
        if scope is not None and pace is not None:
            with self._pacing:
                now_us = self.section.steady_us()
                pace.take(scope, now_us, 1)
                pace.give_back(scope, now_us, 1)

    @contextmanager
    def place(self, caller: Caller, count: int = 1) -> Iterator[RatePlace]:
        """Hold so many intents or replaces of a key's rate, until they are on record.

        Who appends them sets `used`; otherwise a rate that counts records has them back. A key
        without a scope has no rate.

        Raises:
            OverBudgetError: says when the key may ask again.
        """
        scope, place = caller.scope, RatePlace()
        if scope is None or count == 0:
            yield place
            return
        pace = self._paces.get(caller.name) or self._begun(caller.name, scope)
        with self._pacing:
            now_us = self.section.steady_us()
            _paced(scope, caller.name, pace, now_us, count)
            pace.take(scope, now_us, count)
        try:
            yield place
        finally:
            if not place.used:
                with self._pacing:
                    pace.give_back(scope, now_us, count)

    def admit(
        self,
        caller: Caller,
        request: IntentRequest,
        sizing: Callable[[], Sizing],
        unit_minor: int,
    ) -> None:
        """Refuse an intent that is beyond the scope of its key; a key without one passes.

        `sizing` returns the order that the intent would lead to now.

        Raises:
            OutOfScopeError: says what was asked, the limit, and what the key may do next.
            RequestError: the market cannot price the intent.
        """
        scope = caller.scope
        if scope is None:
            return
        self._catch_up()
        _alive(caller, self.section.steady_us())
        _covers(scope, caller.name, request.instrument)
        wanted = sizing()
        if wanted.delta_qty == 0:
            return
        _within(
            scope,
            Asked(
                key=caller.name,
                instrument=request.instrument,
                side=Side.BUY if wanted.delta_qty > 0 else Side.SELL,
                minor=abs(wanted.delta_qty) * wanted.limit_ticks * unit_minor,
                used_minor=self._mandates.used_minor(caller.name),
                digits=self._digits,
            ),
        )

    def keys_over(self, going: Going) -> str:
        """Return which key behind a message was revoked or has expired, or the empty text.

        Behind an order is the key that asked for it; behind a replace also who asked for that. A
        replace that only reduces needs no living author.
        """
        author = "" if going.reduces else author_in(going.given.decision_id)
        for name in filter(None, (author, going.requested_by)):
            caller = self.keyring.caller(name)
            if caller is None and self._flattens(going.given.decision_id):
                continue  # a person closes a position, whoever holds his key now
            if caller is None:
                return f"the key of {name} was revoked"
            try:
                _alive(caller, self.section.steady_us())
            except OutOfScopeError as refusal:
                return str(refusal)
        return ""

    def scope_over(self, going: Going) -> str:
        """Return how a message goes beyond the scope of its author's key, or the empty text.

        An order must leave under the scope that it was asked for under, a replace under the one
        that the key has now. What was judged after the message counts after it.
        """
        given, own = going.given, self.tags.account
        if given.account in {own, f"{own}.{SHARED}"}:
            return ""  # of no scoped key; nothing more is read on the way to the wire
        if not going.requested_by and self._flattens(given.decision_id):
            return ""  # a person closes the account's position; reduce-only bounds it
        self._catch_up()
        key, scope = given.intent.author, self.keyring.scope(given.intent.author)
        asked_under = self._mandates.scope_of(given.decision_id)
        if scope is None or not (going.requested_by or scope.digest == asked_under):
            return f"the scope of key {key} changed since the intent"
        if not going.minor:
            return "nothing is reserved for this order"
        try:
            self._within(given, scope, going.minor, going.seq)
        except OutOfScopeError as refusal:
            return str(refusal)
        return ""

    def covers_replaced(self, given: VerdictGiven, minor: int) -> None:
        """Refuse new terms of an order that are beyond the scope of its author's key.

        Called in the section, where no verdict of the key comes between this look and the request's
        record. `minor` is the most that the order may then be worth.

        Raises:
            OutOfScopeError: they are.
        """
        own, key = self.tags.account, given.intent.author
        if given.account in {own, f"{own}.{SHARED}"}:
            return  # of no scoped key
        self._catch_up()
        caller = self.keyring.caller(key)
        if caller is None or caller.scope is None:
            raise OutOfScopeError(
                key=key,
                bound="key",
                limit="a key with a scope",
                observed="none",
                advice="cancel the order",
            )
        _alive(caller, self.section.steady_us())
        self._within(given, caller.scope, minor)

    def _within(
        self, given: VerdictGiven, scope: KeyScope, minor: int, before_seq: int | None = None
    ) -> None:
        """Hold an order's new worth against a scope, beside the key's other orders of the day."""
        key, intent = given.intent.author, given.intent
        used = self._mandates.used_minor(key, before_seq=before_seq, beside=given.decision_id)
        _within(
            scope,
            Asked(
                key=key,
                instrument=intent.instrument,
                side=intent.side,
                minor=minor,
                used_minor=used,
                digits=self._digits,
            ),
        )

    @property
    def _digits(self) -> int:
        return minor_digits(self.section.policy.currency)

    def _flattens(self, decision_id: str) -> bool:
        stream = f"decision/{decision_id}"
        received = self.reader.records(stream=stream, kinds=(Kind.INTENT_RECEIVED,))
        return any(IntentReceived.of(one).flattens for one in received)

    def _begun(self, key: str, scope: KeyScope) -> KeyPace:
        """Return the pace of a key that asks for the first time in this process."""
        self._catch_up()
        since_us = self.section.steady_us() - MINUTE_US
        begun = KeyPace(self._mandates.asked(key, since_us), scope)
        with self._pacing:
            return self._paces.setdefault(key, begun)

    def _catch_up(self) -> None:
        self._mandates.read(self.reader.log_size())


def _alive(caller: Caller, now_us: int) -> None:
    if caller.scope is not None and caller.expired(now_us):
        raise OutOfScopeError(
            key=caller.name,
            bound="expiry",
            limit=_time(caller.scope.expires_us),
            observed=_time(now_us),
            advice="ask the operator for a new key",
        )


def _covers(scope: KeyScope, key: str, instrument: str) -> None:
    if not scope.covers(instrument):
        allowed = ", ".join(scope.instruments)
        raise OutOfScopeError(
            key=key,
            bound="instrument",
            limit=allowed,
            observed=instrument,
            advice=f"ask for {allowed}",
        )


def _paced(scope: KeyScope, key: str, pace: KeyPace, now_us: int, count: int) -> None:
    wait_us = pace.wait_us(scope, now_us, count)
    if wait_us == 0:
        return
    at_once = f", {scope.intents_at_once} at once" if scope.intents_at_once else ""
    never = wait_us is None
    raise OverBudgetError(
        key=key,
        bound="rate",
        limit=f"{scope.intents_per_minute} intents a minute{at_once}",
        observed=str(pace.lately(now_us) + count),
        advice="ask for fewer legs" if never else f"ask again at {_time(now_us + (wait_us or 0))}",
        retry_after_s=0 if never else math.ceil((wait_us or 0) / 1_000_000),
    )


def _within(scope: KeyScope, asked: Asked) -> None:
    """Hold an order's instrument, side and notional against a scope."""
    _covers(scope, asked.key, asked.instrument)
    if asked.side not in scope.sides:
        allowed = ", ".join(scope.sides)
        raise OutOfScopeError(
            key=asked.key,
            bound="side",
            limit=allowed,
            observed=asked.side.value,
            advice=f"ask for an exposure that needs a {allowed}",
        )
    order_max, day_max = scope.order_max(asked.digits), scope.day_max(asked.digits)
    if asked.minor > order_max:
        limit = asked.money(order_max)
        raise OutOfScopeError(
            key=asked.key,
            bound="order_notional",
            limit=limit,
            observed=asked.money(asked.minor),
            advice=f"ask for less, or cap it with max_qty_lots, to at most {limit}",
        )
    left = day_max - asked.used_minor
    if asked.minor > left:
        most = asked.money(max(0, left))
        raise OverBudgetError(
            key=asked.key,
            bound="day_notional",
            limit=asked.money(day_max),
            observed=asked.money(asked.used_minor + asked.minor),
            advice=f"ask for at most {most}, or on the next trading day",
        )


def _time(at_us: int) -> str:
    return f"{datetime.fromtimestamp(at_us / 1_000_000, tz=UTC):%Y-%m-%dT%H:%M:%SZ}"
