"""What the pages make the desk do, and what they tell the person afterwards."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from gateway.clock import date_of
from gateway.desk.bodies.order_requests import CancelRequest, OrderLine, ReplaceRequest
from gateway.desk.bodies.oversight import ReviewAnswerBody
from gateway.desk.bodies.requests import ApprovalRequest, WouldPass
from gateway.desk.bodies.stopping import FlattenRequest
from gateway.desk.desk import Desk
from gateway.desk.holds.answering import open_sheet
from gateway.desk.holds.waiting import HoldList, hold_list
from gateway.desk.intake.foreign import ForeignLine, foreign_lines
from gateway.desk.officers import stops as stopping
from gateway.desk.officers.flatten import flatten, flattened_text
from gateway.desk.officers.oversight.case_files import CaseLook, draft_report, read_case, read_cases
from gateway.desk.officers.oversight.justifications import justifications
from gateway.desk.officers.oversight.publications import publications
from gateway.desk.officers.oversight.reviews import (
    ReviewItem,
    ReviewLook,
    answer_review,
    read_review,
    read_reviews,
)
from gateway.errors import ApprovalRefusedError, RequestError
from gateway.evidence.answers.days import FlowDays, FlowReport
from gateway.evidence.answers.engine_adds import EngineAdds, engine_adds
from gateway.evidence.answers.outcomes import Scores, scores_of
from gateway.feeds.live.overview import FeedLine, overview
from gateway.installation.keys.keyring import Caller
from gateway.surfaces.web.views.formats import when
from gateway.telemetry.session import SessionStatus
from risk.state.state import Stop


class DeskActions:
    """`pages.Actions` over one desk."""

    def __init__(self, desk: Desk, days: FlowDays | None = None) -> None:
        self._desk = desk
        self._days = days or FlowDays(lambda: desk.own.reader)

    def flow(self, first: str, last: str) -> FlowReport:
        """Return refusals and times of a range of UTC days; today's without a first day."""
        begins = first or date_of(self._desk.own.dispatching.wall_us())
        return self._days.between(begins, last or begins)

    def engine_adds(self, account: str) -> EngineAdds:
        """Return an account against its GJR twin."""
        return engine_adds(self._desk.own.reader, account)

    def scores(self) -> Scores:
        """Return what the scores on record say."""
        return scores_of(self._desk.own.reader)

    def cases(self) -> tuple[CaseLook, ...]:
        """Return the cases on record, newest first."""
        return read_cases(self._desk.own.reader)

    def case(self, case_id: str) -> tuple[CaseLook, str]:
        """Return one case and the draft of a report."""
        found = read_case(self._desk.own.reader, case_id)
        return found, draft_report(self._desk.own.reader, found)

    def own_acts(self) -> Mapping[str, Sequence[dict[str, Any]]]:
        """Return own publications, justifications and counterfactual swaps, newest first."""
        registry = justifications(self._desk.own)
        return {
            "publications": publications(self._desk.own.reader),
            **{name: registry[name] for name in ("justifications", "swaps")},
        }

    def reviews(self) -> tuple[ReviewLook, ...]:
        """Return the samples of blind reviews, newest first."""
        return read_reviews(self._desk.own.reader)

    def review(self, caller: Caller, seq: int) -> tuple[ReviewLook, tuple[ReviewItem, ...]]:
        """Return one sample as this person may see it."""
        return read_review(self._desk.own.reader, seq, caller.name)

    def answer_review(
        self, caller: Caller, seq: int, decision_id: str, answer: str, note: str
    ) -> str:
        """Record an answer; return it beside the model's."""
        try:
            body = ReviewAnswerBody.model_validate({"answer": answer, "note": note})
        except ValidationError:
            raise RequestError(problem="choose buy, sell or no order, and say why") from None
        done = answer_review(self._desk.own, caller.name, seq, decision_id, body)
        return f"On record as {done['seq']}: you said {done['answer']}, the model {done['model']}."

    def note_read(self, reader: Caller, what: str) -> None:
        """Record who reads what, before it is shown."""
        self._desk.reads.note(reader, what)

    def kill_state(self) -> tuple[int, bool]:
        """Return (kill_epoch, killed) from the shared kill word."""
        epoch, killed = self._desk.kill_switch.state
        return epoch, killed

    def book_state(self) -> str:
        """Return `ready`, or where the book and the broker are known to differ."""
        return self._desk.own.section.differences.state

    def tick_of(self, instrument: str) -> int:
        """Return one price step of an instrument in minor units; 1 if it is not listed."""
        listed = self._desk.own.instruments.get(instrument)
        return 1 if listed is None else listed.tick_minor

    def price_unit_of(self, instrument: str) -> tuple[int, str]:
        """Return one price step of an instrument in minor units, and its currency."""
        listed = self._desk.own.instruments.get(instrument)
        currency = self._desk.own.dispatching.profile.currency
        return (1, currency) if listed is None else (listed.tick_minor, listed.currency)

    def session(self) -> SessionStatus | None:
        """Return the FIX session's state, from memory."""
        return self._desk.own.session()

    def feeds(self) -> tuple[FeedLine, ...] | None:
        """Return each feed's state, from memory; None where the market is played."""
        return overview(self._desk.own.market, self._desk.own.instruments)

    def orders(self, caller: Caller, *, live: bool, limit: int) -> Sequence[OrderLine]:
        """Return orders, newest first."""
        return self._desk.order_desk.listed(caller, live=live, limit=limit)

    def foreign(self, caller: Caller, *, live: bool, limit: int) -> Sequence[ForeignLine]:
        """Return the orders that are not ours, the one heard of last first."""
        return foreign_lines(caller, self._desk.own.foreign, live=live, limit=limit)

    def cancel(self, caller: Caller, name: str, client_key: str, reason: str) -> str:
        """Cancel an order; return what is known of it."""
        try:
            request = CancelRequest(client_key=client_key, reason=reason)
        except ValidationError as error:
            raise RequestError(problem=error.errors()[0]["msg"]) from None
        done = self._desk.order_desk.cancel(caller, name, request)
        why = f" ({done.reason})" if done.reason else ""
        return (
            f"Cancel of order {done.order.cl_ord_id}, recorded for {caller.name}:"
            f" {done.result.replace('_', ' ')}{why}. The list of orders shows what the broker makes"
            " of it."
        )

    def replace(self, caller: Caller, name: str, request: Mapping[str, str | int | None]) -> str:
        """Replace an order; return what is known of it."""
        try:
            asked = ReplaceRequest.model_validate(dict(request))
        except ValidationError as error:
            raise RequestError(problem=error.errors()[0]["msg"]) from None
        done = self._desk.order_desk.replace(caller, name, asked)
        why = f" ({done.reason})" if done.reason else ""
        return (
            f"Replace of order {done.order.cl_ord_id}, recorded for {caller.name}:"
            f" {done.result.replace('_', ' ')}{why}. The list of orders shows what the broker makes"
            " of it."
        )

    def kill(self, caller: Caller, reason: str) -> str:
        """Press the kill; return what is in force and what is on record."""
        receipt = self._desk.kill_switch.press(actor=caller.name, reason=reason)
        child = "confirmed" if receipt.child_confirmed else "did not confirm and was killed"
        record = "is on record" if receipt.recorded else "will be recorded when the ledger answers"
        return (
            f"Kill {receipt.kill_epoch} is in force: no new order leaves. The FIX process {child}."
            f" The press {record}."
        )

    def holds(self) -> HoldList:
        """Return what waits for a person, and what ended last."""
        own = self._desk.own
        return hold_list(own.reader, own.orders, own.dispatching.wall_us)

    def would_pass(self, decision_id: str) -> WouldPass | None:
        """Return what would have passed instead of a refused intent, if it is known here."""
        return self._desk.refused.would_pass(decision_id, openly=True)

    def sheet_digest(self, caller: Caller, decision_id: str) -> str:
        """Return the digest of what an approver is shown; the read is on record."""
        own = self._desk.own
        return open_sheet(own.reader, self._desk.reads, caller, decision_id).digest

    def answer_hold(
        self,
        caller: Caller,
        decision_id: str,
        *,
        approve: bool,
        digests: tuple[str, str],
        note: str,
    ) -> str:
        """Approve or refuse a held decision; return what became of it."""
        intent, sheet = digests
        try:
            answer = ApprovalRequest(
                approve=approve, intent_digest=intent, sheet_digest=sheet, note=note
            )
        except ValidationError as error:
            field, text = error.errors()[0]["loc"][0], error.errors()[0]["msg"]
            why = "a note is needed: say why" if field == "note" and not note else text
            problem = "the form does not name what was shown; reload the page"
            raise ApprovalRefusedError(problem=why if field == "note" else problem) from None
        done = self._desk.answer_hold(caller, decision_id, answer)
        why = f" ({done['reason']})" if "reason" in done else ""
        return f"Recorded for {caller.name}: {str(done['result']).replace('_', ' ')}{why}."


class DeskControls:
    """`stops.Controls` over one desk."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def stops(self) -> tuple[str, ...]:
        """Return a line for each stop in force."""
        return tuple(
            f"{one.stop.value} is in force: pressed by {one.actor} at {when(one.recorded_at_us)}."
            for one in self._desk.own.section.stops.open()
        )

    def drilled(self) -> str:
        """Return a line about the newest drill, or the empty text."""
        drills = self._desk.own.drills
        return "" if drills is None else drills.newest

    def press(self, caller: Caller, verb: str, reason: str, *, sure: bool = False) -> str:
        """Stop, resume, cancel or flatten; return what is in force and what is on record."""
        own, name = self._desk.own, caller.name
        match verb:
            case "resume":
                ended = stopping.resume(own, name, None, reason, {})["ended"]
                return f"Ended: {', '.join(one['stop'] for one in ended)}. It is on record."
            case "cancel-all":
                live = stopping.cancel_all(own, name, reason)["live"]
                return f"{len(live)} orders are being cancelled. The request is on record."
            case "flatten":
                request = FlattenRequest(reason=reason, dry_run=not sure)
                return flattened_text(flatten(self._desk, caller, request))
            case _:
                done = stopping.begin_stop(own, name, Stop(verb), reason)
                return f"{done['stop']} is in force and on record as {done['seq']}."
