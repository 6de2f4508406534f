"""Hands orders and replaces out, once ever each, no faster than the broker's profile allows.

An order may be prepared while the ledger commits its announcement: parsed, built, and forgotten if
nobody says go. It has no ticket before the go, so the gate lets it not pass.

Not here: the rate of cancels (`fix.orders.sweep`): a kill is never held back by orders.
"""

import json
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from fix.durable.accounting import Accounting
from fix.session.guard import Refusal, Ticket
from fix.session.link import PREPARED_MAX, Frame, fields_of, number, text
from fix.session.listener import Sent
from fix.session.sweep_worker import Parts
from fix.wire.fields import MSG_TYPE
from fix.wire.messages import CANCEL_REPLACE, CL_ORD_ID, NEW_ORDER, ORIG_CL_ORD_ID, Fields

_SECOND_US: Final = 1_000_000
_JSON: Final = json.JSONEncoder(separators=(",", ":"))


class Throttle:
    """At most `per_s` orders in any second, 0: no limit; for one thread."""

    def __init__(self, per_s: int) -> None:
        self._per_s = per_s
        self._left_us: deque[int] = deque()

    def allows(self, now_us: int) -> bool:
        """Return whether one more order may leave at a monotonic time."""
        while self._left_us and now_us - self._left_us[0] >= _SECOND_US:
            self._left_us.popleft()
        return not self._per_s or len(self._left_us) < self._per_s

    def left(self, now_us: int) -> None:
        """Note that an order left."""
        if self._per_s:
            self._left_us.append(now_us)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """An order's fields, the same as the journal writes them, and by tag."""

    fields: Fields
    words: str
    by_tag: Mapping[int, str]


class Handing:
    """One session's way out for orders; on the worker's thread."""

    def __init__(
        self, parts: Parts, accounts: Accounting, answer: Callable[[Frame, Frame], None]
    ) -> None:
        """Begin with nothing prepared; `answer` answers a command."""
        self._parts = parts
        self._accounts = accounts
        self._answer = answer
        self._throttle = Throttle(parts.profile.pace.orders_per_s)
        self._prepared: dict[str, _Prepared] = {}

    def prepare(self, frame: Frame) -> None:
        """Do what an order needs before its go; the oldest that nobody asked for is dropped."""
        fields = fields_of(frame)
        self._parts.session.prepare(fields)
        while len(self._prepared) >= PREPARED_MAX:
            del self._prepared[next(iter(self._prepared))]
        words = _JSON.encode(fields)
        self._prepared[text(frame, "cl_ord_id")] = _Prepared(fields, words, dict(fields))

    def hand(self, frame: Frame) -> bool:
        """Send one order or replace, once ever; return whether it left.

        It is in the journal, which survives this process, before it leaves. A replace is durable
        there, too; an order is by `settle`: after a power cut the ledger's announcement names it.
        """
        parts, cl_ord_id = self._parts, text(frame, "cl_ord_id")
        made = self._prepared.pop(cl_ord_id, None)
        if frame.get("op") == "hand":
            fields = fields_of(frame)
            made = _Prepared(fields, "", dict(fields))
        ticket = Ticket(
            cl_ord_id=cl_ord_id,
            kill_epoch=number(frame, "kill_epoch"),
            send_before_us=number(frame, "send_before_us"),
            send_until_us=number(frame, "send_until_us"),
        )
        refusal = Refusal.NOT_HANDED if made is None else self._refuses(ticket, made.by_tag)
        if refusal is not None or made is None:
            parts.gate.spend(cl_ord_id)
            return self._refuse(frame, str(refusal))
        # Not the inbox's end: reports may be queued behind this command, and a restart reads on
        # from the journal's offset.
        offset = parts.journal.inbox_offset
        try:
            self._accounts.leaving(made.fields, offset, made.words)
        except OSError as error:
            parts.gate.spend(cl_ord_id)
            return self._refuse(frame, f"{Refusal.JOURNAL}: {error}")
        result = parts.session.send(made.fields)
        parts.gate.spend(cl_ord_id)
        if isinstance(result, Sent):
            self._throttle.left(parts.monotonic_us())
            self._accounts.left(made.fields, result.msg_seq_num)
        else:
            self._accounts.stayed(made.fields, offset, result.value)
        self._answer(frame, outcome(result))
        return isinstance(result, Sent)

    def settle(self) -> None:
        """Make the journal durable.

        Raises:
            OSError: the disk refused; no further order may leave this process.
        """
        self._parts.journal.sync()

    def _refuse(self, frame: Frame, reason: str) -> bool:
        self._answer(frame, {"result": "refused", "reason": reason})
        return False

    def _refuses(self, ticket: Ticket, sent: Mapping[int, str]) -> Refusal | None:
        """Return why an order must not even be noted, or None; takes its ticket then."""
        replaces = sent.get(MSG_TYPE) == CANCEL_REPLACE and ORIG_CL_ORD_ID in sent
        known = replaces or sent.get(MSG_TYPE) == NEW_ORDER
        if not known or sent.get(CL_ORD_ID) != ticket.cl_ord_id:
            return Refusal.MALFORMED
        if replaces and not self._accounts.may_replace(sent[ORIG_CL_ORD_ID]):
            return Refusal.NOT_ALLOWED
        if self._parts.journal.knows(ticket.cl_ord_id):
            return Refusal.ALREADY_USED
        if not self._parts.session.is_logged_on:
            return Refusal.NOT_LOGGED_ON
        if not self._throttle.allows(self._parts.monotonic_us()):
            return Refusal.THROTTLED
        return self._parts.gate.hand(ticket)


def outcome(result: Sent | Refusal) -> Frame:
    """Return the answer to a command that sends."""
    match result:
        case Sent():
            return {
                "result": "sent",
                "msg_seq_num": result.msg_seq_num,
                "epoch": result.epoch,
                "raw": result.raw,
            }
        case Refusal():
            return {"result": "refused", "reason": result.value}
