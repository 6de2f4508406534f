"""The desk: the requests of the API, the pages and the playback, each a few calls to the walk.

Not here: the walk's own order (`gateway.walk`), start and stop (`gateway.launch`).
"""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from audit.evidence.bundle import annotations_of
from audit.sequencer.ledger import HERE
from gateway.desk.bodies.requests import IntentRequest, IntentResponse
from gateway.desk.controls.kill import KillSwitch
from gateway.desk.controls.orders import OrderDesk
from gateway.desk.controls.replacing import ReplaceParts, Replacing
from gateway.desk.controls.turns import Turns
from gateway.desk.holds.holds import Holds
from gateway.desk.intake.admission import Admission, LineFullError
from gateway.desk.intake.answers import documents_for, intent_response
from gateway.desk.intake.asking import received, refuse_another
from gateway.desk.intake.intents import author_in, decision_id_of, wish_of, without_listed_words
from gateway.desk.intake.load import Load
from gateway.desk.intake.passing import RefusedIntents
from gateway.desk.intake.reads import Reads
from gateway.desk.intake.scope import RatePlace, Scopes
from gateway.desk.intake.strategies import AGENT_WISH, wish, wished
from gateway.desk.parts import DeskParts
from gateway.errors import (
    BusyError,
    UndecidedError,
    UnknownDecisionError,
    UnknownInstrumentError,
)
from gateway.feeds.live.items import said_unknown
from gateway.installation.keys.keyring import Caller
from gateway.installation.keys.roles import Role
from gateway.walk.decision import Decision, Result, decide
from gateway.walk.dispatch import dispatch, foresee
from gateway.walk.journal.control.oversight.annotations import DecisionAnnotated
from gateway.walk.ports import Case
from gateway.walk.projections.forecasts import decision_records
from risk.sizing import Sizing


@dataclass(slots=True)
class Desk:
    """One firm's desk. Thread-safe."""

    own: DeskParts
    holds: Holds = field(init=False)
    reads: Reads = field(init=False)
    scopes: Scopes = field(init=False)
    order_desk: OrderDesk = field(init=False)
    turns: Turns = field(default_factory=Turns)
    refused: RefusedIntents = field(default_factory=RefusedIntents)
    answers: threading.RLock = field(default_factory=threading.RLock)
    admission: Admission = field(default_factory=Admission)
    handing: set[str] = field(default_factory=set[str])  # decisions whose order is handed out now

    def __post_init__(self) -> None:
        own = self.own
        self.reads = Reads(own.tools.ledger, own.dispatching.wall_us)
        self.scopes = Scopes(own.tags, own.section, own.reader, own.keyring)
        asked, priced = (own.dispatching, own.reader), (own.instruments, own.market.tick)
        parts = ReplaceParts(*asked, own.section, self.scopes, *priced, self.turns.one)
        self.holds = Holds(lambda: self.own, self.turns, self.answers, self.send)
        own.section.foresee = lambda order: foresee(order, self.own.dispatching)
        self.order_desk = OrderDesk(own.dispatching, own.reader, own.cancels, Replacing(parts))

    def begin(self) -> None:
        """Open the accounts of scoped keys, and put the key of receipts on record.

        Raises:
            AuditError: the ledger does not answer.
        """
        self.scopes.open_accounts()
        if self.own.receipts is not None:
            self.own.receipts.announce()

    @property
    def kill_switch(self) -> KillSwitch:
        """The kill switch."""
        return self.own.kill_switch

    def parts(self) -> dict[str, str]:
        """Return the state of each part, of the stops and of the kill."""
        epoch, killed = self.own.word.read()
        return {
            **self.own.parts(),
            "desk": self.load().late or "ready",
            "stops": self.own.section.stops.state,
            "kill": f"in force, epoch {epoch}" if killed else "ready",
        }

    def load(self) -> Load:
        """Return how much there is to do."""
        deadline_s = self.own.tools.plan.deadline_s
        return Load(waiting=self.admission.now(), pace=self.own.pace(), deadline_s=deadline_s)

    def make(self, case: Case) -> Decision:
        """Decide one case and send the order if it was approved."""
        with self.turns.one():
            decision = self.judged(case)
            if decision.result is Result.HELD:
                self.holds.cases[case.decision_id] = case
            self.send(decision)
        return decision

    def judged(self, case: Case) -> Decision:
        """Decide one case and send nothing; if it is held, nobody may answer."""
        with self.own.telemetry.span("decide"):
            decision = decide(case, self.own.tools, self.own.section)
        self.own.telemetry.count("countersign.decisions", result=decision.result)
        if decision.judged is not None:
            self.own.orders.catch_up((decision.judged.record,))
            self.refused.keep(decision.judged, self.own.section.policy)
        return decision

    @contextmanager
    def handling(self, caller: Caller) -> Iterator[None]:
        """Handle one request of an agent, under one policy, when it is its turn.

        Raises:
            BusyError: it would not be answered in time.
        """
        first = caller.role is not Role.AGENT
        with ExitStack() as held:
            try:
                turn = self.admission.one(caller.name, self.own.tools.plan.deadline_s, first=first)
                held.enter_context(turn)
            except LineFullError as full:
                raise _busy(full) from None
            with self.turns.one():
                yield

    def submit(self, caller: Caller, request: IntentRequest) -> IntentResponse:
        """Judge an agent's intent; the same client key returns the same decision, over restarts.

        Raises:
            OutOfScopeError: the scope of the caller's key does not cover it, or its rate is used
                up; no model was called.
            RequestError: the instrument is not quoted, or the key was used for another request.
            NotReadyError: too many intents are being handled, or this one is not decided yet.
        """
        new = 0 if self._asked_before(caller, request) else 1
        with self.scopes.place(caller, new) as place, self.handling(caller):
            return self._submit(caller, without_listed_words(request), place)

    def refuse_early(self, caller: Caller, request: IntentRequest) -> None:
        """Refuse what `submit` would refuse for the key's pace or a full line; waits for nothing.

        Raises:
            OverBudgetError: says when the key may ask again.
            BusyError: it would not be answered in time.
        """
        if new := not self._asked_before(caller, request):
            self.scopes.refuse_paced(caller)
        first, within_s = caller.role is not Role.AGENT, self.own.tools.plan.deadline_s
        try:
            self.admission.refuse_full(caller.name, within_s, first=first)
        except LineFullError as full:
            if new:
                self.scopes.count_refused(caller)
            raise _busy(full) from None

    def _asked_before(self, caller: Caller, request: IntentRequest) -> bool:
        """Return whether an intent is on record: a repeat takes nothing of its key's rate."""
        decision_id = decision_id_of(caller.name, request.client_key)
        return self.own.orders.get(decision_id) is not None

    def _submit(self, caller: Caller, request: IntentRequest, place: RatePlace) -> IntentResponse:
        own, decision_id = self.own, decision_id_of(caller.name, request.client_key)
        self.refuse_unknown(request)
        with self.answers:
            if own.orders.get(decision_id) is not None:
                refuse_another(own.reader, own.dispatching.persons, decision_id, request)
                return self.answer(decision_id)
            case = self.case_of(caller, request)
            self.admit(caller, request, case)
            *_, opened = own.tools.ledger.append(
                *self.scopes.records(caller, case.tags.account),
                received(case, caller, request, own.dispatching.persons, own.section.policy_named),
                hooks=HERE,
            )
            place.used = True
            own.orders.catch_up((opened,))
        self.make(case)
        return self.answer(decision_id)

    def refuse_unknown(self, request: IntentRequest) -> None:
        """Refuse an intent in an instrument that is not quoted here."""
        if request.instrument not in (known := self.own.instruments):
            raise UnknownInstrumentError(problem=said_unknown(request.instrument, known))

    def answer(self, decision_id: str) -> IntentResponse:
        """Return the answer to an agent about a decision, signed where the run signs.

        Raises:
            UndecidedError: there is none yet, or the broker's session has not taken the order yet.
        """
        answer = intent_response(self.own.reader, decision_id)
        if answer.result == "unknown":
            if decision_id in self.handing:
                raise UndecidedError(part=decision_id, state="being handed out")
            answer = intent_response(self.own.reader, decision_id)  # its fate may stand since
        if answer.result in {"rejected", "held"}:
            edit = self.refused.would_pass(decision_id)
            answer = answer.model_copy(update={"would_pass": edit})
        return answer if (own := self.own.receipts) is None else own.signed(answer)

    def decision(self, decision_id: str, *, reader: Caller) -> dict[str, Any]:
        """Return a decision's records, its forecasts' and its annotations; the read is on record.

        Raises:
            UnknownDecisionError: no decision of the reader has this id.
        """
        stream, seen = f"decision/{decision_id}", reader.sees(author_in(decision_id))
        # PostgreSQL raises an error for a text with a NUL
        records = (
            decision_records(self.own.reader, decision_id) if seen and stream.isprintable() else ()
        )
        if not records:
            raise UnknownDecisionError(problem=f"no decision {decision_id}")
        self.reads.note(reader, stream)
        remarks = (
            {"seq": one.seq, **one.body}
            for one in annotations_of(self.own.reader, decision_id)
            if reader.sees(DecisionAnnotated.of(one).actor_name)
        )
        return {
            "decision_id": decision_id,
            "records": documents_for(reader.role, records),
            "annotations": list(remarks),
        }

    def send(self, decision: Decision) -> bool:
        """Send the order of a decision that was approved; return whether it is known to be sent."""
        standing, left = self.own.orders.get(decision.decision_id), ""
        if decision.result is Result.APPROVED and standing is not None:
            with self.own.telemetry.span("dispatch"):
                self.handing.add(decision.decision_id)
                try:
                    result = dispatch(standing, self.own.dispatching)
                finally:
                    self.handing.discard(decision.decision_id)
            left = "withdrawn" if result is None else result.outcome
            self.own.telemetry.count("countersign.orders", result=left)
        return left == "sent"

    def case_of(self, caller: Caller, request: IntentRequest) -> Case:
        """Return an agent's intent as a case, with the market as it is now."""
        instrument = self.own.instruments[request.instrument]
        look = self.own.look(request.instrument)
        return Case(
            decision_id=decision_id_of(caller.name, request.client_key),
            tags=self.scopes.tags_of(caller),
            instrument=instrument,
            snapshot=look.snapshot,
            narrative=look.reach,
            stood=look.stood,
            strategy=AGENT_WISH,
            author=caller.name,
            tick=lambda: self.own.market.tick(request.instrument),
            propose=wish(self.own.section.policy.sizing, instrument, wish_of(request, instrument)),
            directional=request.directional,
        )

    def admit(self, caller: Caller, request: IntentRequest, case: Case) -> None:
        """Refuse an intent beyond the scope of its key."""

        def sizing() -> Sizing:
            wanted, section = wish_of(request, case.instrument), self.own.section
            quote, book = case.tick().quote, section.book(case.tags.account)
            return wished(section.policy.sizing, case.instrument, wanted, book, quote)

        self.scopes.admit(caller, request, sizing, case.instrument.unit_minor)


def _busy(full: LineFullError) -> BusyError:
    state, later_s = f"busy with other intents: {full}", full.retry_after_s
    return BusyError(part="desk", state=state, retry_after_s=later_s)
