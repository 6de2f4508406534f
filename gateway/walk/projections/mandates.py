"""What each agent's key has asked for and used, folded from committed records.

A restart folds the same records to the same answers: no budget is a counter in memory only.

Not here: the limits (`gateway.installation.keys.scopes`), their check (`desk.agents.scope`).

Rules:
- An approved or held order counts with its full notional at the limit price, also if it is
  cancelled later; a replaced one with its new terms. One that never left counts no more.
- The day is the trading day of the order's account, as the loss rules have it (`DayStarted`).
"""

import threading
from collections import deque
from dataclasses import dataclass, field, replace
from typing import Final

from audit.records.kinds import Kind
from audit.records.record import Record
from gateway.walk.journal.control.scope import AgentScoped
from gateway.walk.journal.decision import IntentReceived
from gateway.walk.journal.replace import ReplaceEnded, ReplaceRequested
from gateway.walk.journal.run import MarkTaken
from gateway.walk.journal.verdict import VerdictGiven
from gateway.walk.ports import RecordsPort

ASKED_MAX: Final = 600
"""Times remembered for each key; no scope allows more in a minute."""
NEVER_LEFT: Final = frozenset(
    {
        Kind.ORDER_WITHDRAWN,
        Kind.ORDER_REFUSED,
        Kind.RESERVATION_RELEASED,
        Kind.APPROVAL_REFUSED,
    }
)
MANDATE_KINDS: Final = (
    Kind.AGENT_SCOPED,
    Kind.INTENT_RECEIVED,
    Kind.VERDICT_GIVEN,
    Kind.DECISION_SEALED,
    Kind.MARK_TAKEN,
    Kind.REPLACE_REQUESTED,
    Kind.REPLACE_ENDED,
    *sorted(NEVER_LEFT),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What one order uses of its key's day."""

    key: str
    account: str
    seq: int
    minor: int


class UsedBudgets:
    """What orders use of their keys' days, with a sum for each key."""

    def __init__(self) -> None:
        """Start with nothing used."""
        self._keys: dict[str, str] = {}
        self._orders: dict[str, dict[str, Used]] = {}  # of each key, by `seq`
        self._sums: dict[str, int] = {}

    def put(self, decision_id: str, used: Used) -> None:
        """Count an order, in place of what it used before; records come in their order."""
        self.drop(decision_id)
        self._keys[decision_id] = used.key
        self._orders.setdefault(used.key, {})[decision_id] = used
        self._sums[used.key] = self._sums.get(used.key, 0) + used.minor

    def drop(self, decision_id: str) -> None:
        """Count an order no more."""
        key = self._keys.pop(decision_id, None)
        if key is not None:
            self._sums[key] -= self._orders[key].pop(decision_id).minor

    def replaced(self, decision_id: str, minor: int) -> None:
        """Count an order with its new worth, if it counts; its record stays."""
        if (key := self._keys.get(decision_id)) is not None:
            used = self._orders[key][decision_id]
            self._orders[key][decision_id] = replace(used, minor=minor)
            self._sums[key] += minor - used.minor

    def drop_account(self, account: str) -> None:
        """Count no order of an account any more."""
        for orders in self._orders.values():
            for name in [name for name, one in orders.items() if one.account == account]:
                self._sums[orders[name].key] -= orders[name].minor
                del self._keys[name], orders[name]

    def minor(self, key: str, before_seq: int | None, beside: str) -> int:
        """Return what a key's orders of before a record use, one of them left out."""
        orders, found = self._orders.get(key, {}), self._sums.get(key, 0)
        if beside in orders:
            found -= orders[beside].minor
        if before_seq is not None:
            for name in reversed(orders):
                if orders[name].seq < before_seq:
                    break
                found -= 0 if name == beside else orders[name].minor
        return found


@dataclass(slots=True)
class _Fold:
    asked: dict[str, deque[int]] = field(default_factory=dict)
    scopes: dict[str, str] = field(default_factory=dict)
    used: UsedBudgets = field(default_factory=UsedBudgets)
    days: dict[str, str] = field(default_factory=dict)
    accounts: dict[str, None] = field(default_factory=dict)

    def take(self, record: Record) -> None:
        decision_id = record.stream.removeprefix("decision/")
        match record.kind:
            case Kind.AGENT_SCOPED:
                self.accounts[AgentScoped.of(record).account] = None
            case Kind.INTENT_RECEIVED:
                received = IntentReceived.of(record)
                self._asked(received.author, record)
                if received.scope_digest:
                    self.scopes[decision_id] = received.scope_digest
            case Kind.VERDICT_GIVEN:
                self._judged(VerdictGiven.of(record), record.seq)
            case Kind.MARK_TAKEN:
                self._marked(MarkTaken.of(record))
            case Kind.DECISION_SEALED:
                self.scopes.pop(decision_id, None)
            case Kind.REPLACE_REQUESTED:
                wanted = ReplaceRequested.of(record)
                self._asked(wanted.requested_by, record)
                held = wanted.reservation
                self._replaced(decision_id, held.qty_lots * held.limit_ticks * held.unit_minor)
            case Kind.REPLACE_ENDED:
                ended = ReplaceEnded.of(record)
                now, unit = ended.terms, ended.reservation.unit_minor
                self._replaced(decision_id, now.qty_lots * now.limit_ticks * unit)
            case kind if kind in NEVER_LEFT:
                self.used.drop(decision_id)
            case _:
                pass

    def _asked(self, key: str, record: Record) -> None:
        times = self.asked.setdefault(key, deque(maxlen=ASKED_MAX))
        times.append(record.recorded_at_us)

    def _judged(self, given: VerdictGiven, seq: int) -> None:
        held = given.reservation
        if held is None:
            self.used.drop(given.decision_id)
            return
        used = Used(
            key=given.intent.author,
            account=given.account,
            seq=seq,
            minor=held.qty_lots * held.limit_ticks * held.unit_minor,
        )
        self.used.put(given.decision_id, used)

    def _replaced(self, decision_id: str, minor: int) -> None:
        """Count a replaced order with its new worth; one of an earlier day counts no more."""
        self.used.replaced(decision_id, minor)

    def _marked(self, mark: MarkTaken) -> None:
        if mark.kind != "open" or mark.session_date <= self.days.get(mark.account, ""):
            return
        self.days[mark.account] = mark.session_date
        self.used.drop_account(mark.account)


class Mandates:
    """What keys have used, up to the last record read; safe from any thread."""

    def __init__(self, reader: RecordsPort) -> None:
        """Start with nothing read."""
        self._reader = reader
        self._fold = _Fold()
        self._seq = -1
        self._lock = threading.Lock()

    def read(self, size: int) -> None:
        """Fold the records below a size of the log.

        Raises:
            AuditError: the log cannot be read.
        """
        with self._lock:
            if size <= self._seq + 1:
                return
            for record in self._reader.records(
                kinds=MANDATE_KINDS, after_seq=self._seq, before_seq=size
            ):
                self._fold.take(record)
                self._seq = record.seq  # a read that fails half-way goes on from here
            self._seq = size - 1

    def asked(self, key: str, since_us: int) -> tuple[int, ...]:
        """Return when a key's intents and replaces since a time were recorded, oldest first."""
        with self._lock:
            return tuple(one for one in self._fold.asked.get(key, ()) if one > since_us)

    def used_minor(self, key: str, *, before_seq: int | None = None, beside: str = "") -> int:
        """Return the notional of a key's orders of the day, approved or held before a record.

        `beside` is a decision that is left out.
        """
        with self._lock:
            return self._fold.used.minor(key, before_seq, beside)

    def scope_of(self, decision_id: str) -> str:
        """Return the digest of the scope that an unsealed decision was asked for under, or ''."""
        with self._lock:
            return self._fold.scopes.get(decision_id, "")

    def accounts(self, own: str) -> tuple[str, ...]:
        """Return the accounts of scoped keys beside an account, in the order of their first use."""
        with self._lock:
            return tuple(name for name in self._fold.accounts if name.startswith(f"{own}."))
