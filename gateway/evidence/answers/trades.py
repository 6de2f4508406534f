"""Answers about decisions and orders: what was refused, who approved, which model, what traded."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.clock import range_us
from gateway.desk.holds.answering import sheet_in
from gateway.errors import UnknownDecisionError
from gateway.evidence.answers.answer import Fact, RecordedAnswer, when
from gateway.evidence.answers.days import first_seq
from gateway.evidence.answers.flow import FLOW_KINDS, FlowFold, RefusalGroup
from gateway.evidence.answers.governance import VERIFY
from gateway.evidence.decisions import PREFIX
from gateway.walk.journal.control.oversight.overrides import override_in
from gateway.walk.journal.forecast import ForecastMade, NewsTwinMade
from gateway.walk.journal.order import OrderReported, OrderSending
from gateway.walk.journal.run import ModelLoaded
from gateway.walk.journal.verdict import ApprovalGiven, ApprovalRefused, VerdictGiven
from gateway.walk.projections.forecasts import decision_records

SIDES: Final = {"1": "buy", "2": "sell", "5": "sell short", "6": "sell short exempt"}
MOVES: Final = (("expected_1e8", "expected move"), ("p_up_bp", "chance of a rise"))


@dataclass(slots=True)
class _Refusals:
    """A sink of the flow that keeps each refusal as a fact."""

    facts: list[Fact] = field(default_factory=list)

    def judged(self, record: Record, result: str) -> None:
        """Keep nothing: the rules follow."""

    def refused(self, record: Record, group: RefusalGroup, count: int) -> None:
        """Keep who refused what."""
        where = record.stream.removeprefix(PREFIX)
        rule = f"rule {group.rule}, " if group.rule else ""
        times = f", {count} times" if count > 1 else ""
        text = f"{where}: {group.action} by {group.by}: {rule}{group.reason}{times}"
        self.facts.append(Fact(text=text, record=record))

    def took(self, opened_us: int, leg: str, us: int) -> None:
        """Keep no time."""


def rejected_answer(reader: LedgerReader, first: str, last: str) -> RecordedAnswer:
    """Answer what was refused or held in a range of UTC days, and by which rule."""
    found = _Refusals()
    fold = FlowFold(found)
    for record in _within(reader, first, last, *FLOW_KINDS):
        fold.take(record)
    return RecordedAnswer(
        question=f"What was rejected from {first} to {last}, and by which rule?",
        facts=tuple(found.facts),
        nothing="nothing was refused or held",
        check=f"{VERIFY}; counts: countersign flow; a verdict again: countersign replay DECISION",
    )


def approval_answer(reader: LedgerReader, name: str) -> RecordedAnswer:
    """Answer who approved an order (ClOrdID or decision id), and what he saw."""
    decision_id = decision_named(reader, name)
    stream, facts = PREFIX + decision_id, []
    more: dict[str, Any] = {"decision_id": decision_id}
    kinds = (Kind.VERDICT_GIVEN, Kind.APPROVAL_GIVEN, Kind.APPROVAL_REFUSED)
    for record in reader.records(stream=stream, kinds=kinds):
        if record.kind is Kind.VERDICT_GIVEN:
            given = VerdictGiven.of(record)
            text = f"the rules said {given.result} under policy {given.policy_digest}"
            if (used := override_in(record)) is not None:
                text += f", with {used.rule_id} {used.check} lifted by override {used.override_id}"
            facts.append(Fact(text=text, record=record))
        elif record.kind is Kind.APPROVAL_REFUSED:
            said = ApprovalRefused.of(record)
            facts.append(Fact(text=f"{said.approver} refused: {said.reason}", record=record))
        else:
            facts += _approved(reader, record, decision_id)
    sheet = sheet_in(reader, decision_id)
    if sheet is not None:
        more |= {"sheet_digest": sheet.digest, "sheet": sheet.document}
        told = f"the sheet that he was shown has the digest {sheet.digest}: records"
        seqs = [one["seq"] for one in more["sheet"]["records"]]
        facts.append(
            Fact(text=f"{told} {', '.join(map(str, seqs))}, made again here; --json has it")
        )
    else:
        facts.append(Fact(text="no person was asked"))
    return RecordedAnswer(
        question=f"Who approved {name}, and what did he see?",
        facts=tuple(facts),
        nothing="",
        check=f"{VERIFY}; all of it: countersign export {decision_id}",
        more=more,
    )


def model_answer(reader: LedgerReader, decision_id: str) -> RecordedAnswer:
    """Answer which model and weights made a decision's forecast."""
    decision_id = decision_named(reader, decision_id)
    facts = []
    for record in _forecasts(reader, decision_id, Kind.FORECAST_MADE):
        digest = ForecastMade.of(record).model_digest
        facts.append(Fact(text=f"the forecast names the weights {digest}", record=record))
        loaded = reader.records(
            stream="control",
            kinds=(Kind.MODEL_LOADED,),
            before_seq=record.seq,
            newest_first=True,
        )
        same = (one for one in loaded if ModelLoaded.of(one).manifest == digest)
        if (found := next(same, None)) is not None:
            text = "these weights were loaded and passed their self-test; the record has the engine"
            facts.append(Fact(text=text, record=found))
    return RecordedAnswer(
        question=f"Which model and weights made the forecast of {decision_id}?",
        facts=tuple(facts),
        nothing="it has no forecast",
        check=f"countersign replay {decision_id}: it computes the forecast again from the weights",
    )


def words_answer(reader: LedgerReader, decision_id: str) -> RecordedAnswer:
    """Answer what words changed: the forecast beside its twin without news."""
    decision_id = decision_named(reader, decision_id)
    facts = []
    made: dict[str, Any] = {}
    for record in _forecasts(reader, decision_id, Kind.FORECAST_MADE, Kind.NEWS_TWIN_MADE):
        if record.kind is Kind.FORECAST_MADE:
            made = ForecastMade.of(record).forecast
            facts.append(Fact(text=f"with the news: {_moves(made)}", record=record))
            continue
        twin = NewsTwinMade.of(record)
        if twin.forecast is None:
            text = f"there is no twin without news: {twin.missing}"
        else:
            change = int(made["expected_1e8"]) - int(twin.forecast["expected_1e8"])
            text = (
                f"without: {_moves(twin.forecast)}; words changed the expected move by {change} e-8"
            )
        facts.append(Fact(text=text, record=record))
    if len(facts) == 1:
        facts.append(Fact(text="no twin without news is on record: the prompt held no news"))
    return RecordedAnswer(
        question=f"What did words change in {decision_id}?",
        facts=tuple(facts),
        nothing="it has no forecast",
        check=f"countersign replay {decision_id}: it computes forecast and twin again",
    )


def orders_answer(reader: LedgerReader, instrument: str, first: str, last: str) -> RecordedAnswer:
    """Answer with every order of an instrument that was announced in a range of UTC days."""
    facts = []
    for record in _within(reader, first, last, Kind.ORDER_SENDING):
        order = OrderSending.of(record)
        tags = dict(reversed(order.fields))
        if tags.get(55) != instrument:
            continue
        ended = next(
            reader.records(
                stream=record.stream, kinds=(Kind.ORDER_REPORTED,), newest_first=True, limit=1
            ),
            None,
        )
        state = "without a report"
        if ended is not None:
            told = OrderReported.of(ended)
            filled = told.report.get("cum_qty", "")
            state = f"{told.order_state.lower()}, {filled} filled by record {ended.seq}"
        side = SIDES.get(tags.get(54, ""), tags.get(54, ""))
        text = f"{order.cl_ord_id}: {side} {tags.get(38)} at {tags.get(44, 'market')}, {state}"
        facts.append(
            Fact(text=f"{text}; decision {record.stream.removeprefix(PREFIX)}", record=record)
        )
    return RecordedAnswer(
        question=f"Which orders of {instrument} were sent from {first} to {last}?",
        facts=tuple(facts),
        nothing="none",
        check=f"{VERIFY}; against the broker: countersign verify --key KEY --broker-fills FILE",
    )


def decision_named(reader: LedgerReader, name: str) -> str:
    """Return the decision with this id, or whose order has this ClOrdID.

    Raises:
        UnknownDecisionError: when there is none.
    """
    stream = PREFIX + name
    if stream.isprintable() and next(reader.records(stream=stream, limit=1), None) is not None:
        return name
    for record in reader.records(kinds=(Kind.ORDER_SENDING,), newest_first=True):
        if OrderSending.of(record).cl_ord_id == name:
            return record.stream.removeprefix(PREFIX)
    raise UnknownDecisionError(
        problem=f"no decision and no order {name}: `countersign decisions` lists them"
    )


def _approved(reader: LedgerReader, record: Record, decision_id: str) -> Iterator[Fact]:
    said = ApprovalGiven.of(record)
    text = f"{said.approver} approved at {when(record.recorded_at_us)}"
    yield Fact(text=f"{text}; his reason: {said.reason or 'none on record'}", record=record)
    if said.shown is None:
        yield Fact(text="which sheet he was shown is not on record")
        return
    sheet = sheet_in(reader, decision_id)
    same = sheet is not None and sheet.digest == said.shown.sheet_digest
    told = "the same as made again from the records" if same else "NOT that of the records"
    read = reader.record(said.shown.read_seq)
    yield Fact(text=f"he opened the sheet {said.shown.sheet_digest}, {told}", record=read)


def _forecasts(reader: LedgerReader, decision_id: str, *kinds: Kind) -> Iterator[Record]:
    """Yield the records of these kinds of the forecasts that a decision names, by number."""
    return (one for one in decision_records(reader, decision_id) if one.kind in kinds)


def _moves(forecast: dict[str, Any]) -> str:
    told = (f"{said} {forecast[name]}" for name, said in MOVES if name in forecast)
    return ", ".join(told)


def _within(reader: LedgerReader, first: str, last: str, *kinds: Kind) -> Iterator[Record]:
    begins, ends = range_us(first, last)
    for record in reader.records(kinds=kinds, after_seq=first_seq(reader, begins) - 1):
        if record.recorded_at_us >= ends:
            return
        yield record
