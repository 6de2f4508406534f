"""The decisions that wait for a person: answered, taken over at a start, or ended in time.

Not here: who may answer and what a yes binds (`gateway.walk.approval`), what a person is shown
(`sheet`).
"""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from audit.sequencer.ledger import Lane
from gateway.desk.bodies.requests import ApprovalRequest
from gateway.desk.controls.turns import Turns
from gateway.desk.holds.answering import refuse_hold, seen_by
from gateway.desk.intake.answers import told
from gateway.desk.intake.earlier import case_of, waiting_until_us
from gateway.desk.parts import DeskParts
from gateway.errors import ApprovalRefusedError, NotReadyError
from gateway.installation.keys.keyring import Caller
from gateway.walk import deadlines
from gateway.walk.approval import Said, agree, end_hold, is_over, release
from gateway.walk.decision import Decision, Result
from gateway.walk.journal import verdict as journal_verdicts
from gateway.walk.journal.standing import Standing
from gateway.walk.ports import Case
from inference.errors import EngineError


class Holds:
    """The held decisions of one desk; thread-safe.

    Attributes:
        cases: what renews each of them, by decision.
    """

    def __init__(
        self,
        own: Callable[[], DeskParts],
        turns: Turns,
        answers: threading.RLock,
        send: Callable[[Decision], bool],
    ) -> None:
        """Start with none; `answers` is the lock under which a decision is answered once."""
        self._own, self._turns, self._answers, self._send = own, turns, answers, send
        self.cases: dict[str, Case] = {}

    def answer(self, caller: Caller, decision_id: str, answer: ApprovalRequest) -> dict[str, Any]:
        """Approve or refuse a held decision.

        Raises:
            UnknownDecisionError: no decision has this id.
            ApprovalRefusedError: the decision is not held, or this person may not answer.
        """
        with self._turns.one(), self._answers:
            own, section = self._own(), self._own().section
            standing, case = own.orders.get(decision_id), self.cases.get(decision_id)
            approval = agree(
                standing, case, caller.name, answer.intent_digest, section, section.now()
            )
            if standing is None or case is None or standing.verdict is None:
                raise ApprovalRefusedError(problem="nothing waits for approval here")
            if not answer.approve:
                del self.cases[decision_id]
                refuse_hold(
                    standing,
                    caller.name,
                    answer.note,
                    market_time_us=own.market.now_us(),
                    ledger=own.tools.ledger,
                    orders=own.orders,
                )
                return {"decision_id": decision_id, "result": "refused"}
            shown = seen_by(own.reader, caller.name, decision_id, answer.sheet_digest)
            case = self._renewable(case)
            del self.cases[decision_id]
            said = Said(note=answer.note, shown=shown)
            decision = release(standing, case, approval, own.tools, section, own.orders, said)
        self._send(decision)
        if decision.result is not Result.APPROVED:
            return {"decision_id": decision_id, "result": decision.result.value}
        records = tuple(self._own().reader.records(stream=f"decision/{decision_id}"))
        result, reason = told(records)
        answered = {"decision_id": decision_id, "result": result}
        return answered | ({"reason": reason} if reason else {})

    def resume(self, standing: Standing) -> bool:
        """Take over a hold of an earlier run, with its remaining life; return whether it goes on.

        A crash after the record leaves a hold that the next start takes over in the same way.
        """
        own = self._own()
        with self._answers:
            stream = f"decision/{standing.decision_id}"
            records = tuple(own.reader.records(stream=stream))
            now, ends_us = own.section.now(), waiting_until_us(records)
            if standing.mode and standing.mode != own.tags.mode:
                return False  # its order would leave in another mode than it was judged in
            if standing.verdict is None or not records[-1].recorded_at_us <= now.wall_us < ends_us:
                return False  # over, or the clock went back and nobody knows how much is left
            case = case_of(
                standing,
                records,
                own.reader,
                own.section.policy,
                own.instruments,
                own.market.tick,
            )
            if case is None:
                return False
            (resumed,) = own.tools.ledger.append(
                journal_verdicts.approval_resumed(
                    case, standing.verdict, run_id=own.tags.run_id, expires_us=ends_us
                ),
                lane=Lane.URGENT,
            )
            own.orders.catch_up((resumed,))
            name = deadlines.hold_of(standing.decision_id)
            own.section.deadlines.keep(name, now.after(ends_us - now.wall_us))
            self.cases[standing.decision_id] = case
        return True

    def expire(self, now_us: int | None = None) -> int:
        """End the holds that nobody answered in time; return how many.

        `now_us` is wall time, by default now. A hold also ends by the monotonic clock.
        """
        with self._answers:
            now_us = self._own().dispatching.wall_us() if now_us is None else now_us
            late = [s for s in self._own().orders.held() if is_over(s, self._own().section, now_us)]
            for standing in late:
                self.cases.pop(standing.decision_id, None)
                end_hold(
                    standing,
                    self._own().tools,
                    self._own().orders,
                    reason="hold_expired",
                    outcome="hold_expired",
                    market_time_us=self._own().market.now_us(),
                )
        return len(late)

    def _renewable(self, case: Case) -> Case:
        """Return a held case with the inputs of now; a yes without them leaves the hold waiting.

        Raises:
            NotReadyError: the engine is not ready.
            RequestError: the instrument has no quote, or its market is closed.
        """
        own = self._own()
        try:
            own.tools.engine.describe()
        except EngineError as error:
            raise NotReadyError(part="engine", state=f"{error}; the hold still waits") from None
        case.tick()
        look = own.look(case.instrument.symbol)
        return replace(case, snapshot=look.snapshot, narrative=look.reach, stood=look.stood)
