"""Blind reviews: a sample of decisions, judged again by a person who has not seen the answer.

A reviewer sees what the model saw (closes, news, quote, position) and says which order he would
want. Then the log tells what the model wanted. Skill that is never used is lost, and an approver
who always agrees proves nothing; the agreement shows both.

Rules:
- The log's root draws the sample, from all proposals of the days; a range of days has one sample.
- Nobody answers for a decision whose page or sheet he opened before, on the ledger's own word.
- A sample's answers are shown to him only who has answered, and the agreement of all is by answer.

Not here: the draw and the statistic (`risk.windows.review`).
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

from audit.records.canonical import canonical
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.clock import days_between
from gateway.desk.bodies.oversight import ReviewAnswerBody, ReviewBody
from gateway.desk.officers.oversight.fairness import root_of
from gateway.desk.parts import DeskParts
from gateway.errors import RequestError, ReviewRefusedError, UnknownDecisionError
from gateway.walk.journal.control.access import ReadRecorded
from gateway.walk.journal.control.oversight.reviews import (
    ReviewAnswered,
    ReviewDrawn,
)
from gateway.walk.journal.decision import IntentProposed, QuoteTaken
from gateway.walk.journal.forecast import SnapshotTaken
from gateway.walk.projections.forecasts import decision_records
from gateway.walk.projections.outbox import DECISION_PREFIX
from risk.windows.review import Agreement, ReviewAnswer, agreement, drawn

LISTED_MAX: Final = 52
BARS_SHOWN: Final = 60
SHOWN_KINDS: Final = (Kind.SNAPSHOT_TAKEN, Kind.QUOTE_TAKEN, Kind.INTENT_PROPOSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewItem:
    """One decision of a sample for one reviewer.

    Attributes:
        sheet: what he is shown; nothing of the answer is in it.
        mine: his answer; None before he gave it.
        model: the model's answer; None before he gave his.
    """

    decision_id: str
    sheet: dict[str, Any]
    mine: ReviewAnswered | None
    model: ReviewAnswer | None

    def document(self) -> dict[str, Any]:
        """Return it for the API."""
        return {
            "decision_id": self.decision_id,
            "sheet": self.sheet,
            "sheet_digest": _digest(self.sheet),
            "answer": None if self.mine is None else self.mine.answer.value,
            "model": None if self.model is None else self.model.value,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewLook:
    """A sample, how many answers it has by reviewer, and the agreement of all of them."""

    seq: int
    drawn: ReviewDrawn
    answers: dict[str, int]
    agreement: Agreement

    def document(self) -> dict[str, Any]:
        """Return it for the API."""
        found = self.agreement
        return {
            "seq": self.seq,
            **self.drawn.document(),
            "answers": self.answers,
            "cases": found.cases,
            "agreed": found.agreed,
            "kappa_ppm": found.kappa_ppm,
        }


def draw_review(own: DeskParts, actor: str, body: ReviewBody) -> dict[str, Any]:
    """Put a sample on record; the same days give the sample that they have.

    Raises:
        RequestError: a day is no date, or nothing was proposed on these days.
        AuditError: the ledger does not take it.
    """
    days = days_between(body.first_day, body.last_day or body.first_day)
    first, last = (one.isoformat() for one in days)
    for one in read_reviews(own.reader):
        if (one.drawn.first_day, one.drawn.last_day) == (first, last):
            return one.document()
    proposed = [*proposals(own.reader, first, last)]
    if not proposed:
        raise RequestError(problem=f"nothing was proposed from {first} to {last} (UTC)")
    size = proposed[-1].seq + 1
    root = root_of(own.reader, size)
    ids = dict.fromkeys(one.stream.removeprefix(DECISION_PREFIX) for one in proposed)
    review = ReviewDrawn(
        first_day=first,
        last_day=last,
        size=size,
        root=root.hex(),
        proposed=len(ids),
        decisions=drawn(root, ids, body.count),
        actor_name=actor,
    )
    (record,) = own.tools.ledger.append(review.draft())
    return _looked(record, ()).document()


def proposals(reader: LedgerReader, first: str, last: str) -> Iterator[Record]:
    """Yield the first proposal of each decision that was recorded on these days, in order."""
    for record in reader.records(kinds=(Kind.INTENT_PROPOSED,)):
        first_of_all = IntentProposed.of(record).quote is None
        if first_of_all and first <= _day_of(record) <= last:
            yield record


def read_reviews(reader: LedgerReader) -> tuple[ReviewLook, ...]:
    """Return the newest samples with their agreement, newest first."""
    found = [
        *reader.records(
            stream="control", kinds=(Kind.REVIEW_DRAWN,), newest_first=True, limit=LISTED_MAX
        )
    ]
    if not found:
        return ()
    said: dict[int, list[tuple[ReviewAnswered, ReviewAnswer]]] = {one.seq: [] for one in found}
    for record in reader.records(stream="control", kinds=(Kind.REVIEW_ANSWERED,)):
        answered = ReviewAnswered.of(record)
        if answered.review_seq in said:
            model = model_answer(reader, answered.reviewed_id)
            said[answered.review_seq].append((answered, model))
    return tuple(_looked(one, said[one.seq]) for one in found)


def read_review(
    reader: LedgerReader, seq: int, reviewer: str
) -> tuple[ReviewLook, tuple[ReviewItem, ...]]:
    """Return a sample as one reviewer may see it.

    Raises:
        UnknownDecisionError: the record is no sample.
    """
    looked = next((one for one in read_reviews(reader) if one.seq == seq), None)
    if looked is None:
        raise UnknownDecisionError(problem=f"record {seq} is no blind review: countersign review")
    mine = {one.reviewed_id: one for one in answers_of(reader, seq, reviewer)}
    return looked, tuple(
        ReviewItem(
            decision_id=decision_id,
            sheet=blind_sheet(reader, decision_id),
            mine=mine.get(decision_id),
            model=model_answer(reader, decision_id) if decision_id in mine else None,
        )
        for decision_id in looked.drawn.decisions
    )


def answers_of(reader: LedgerReader, seq: int, reviewer: str) -> tuple[ReviewAnswered, ...]:
    """Return a reviewer's answers to a sample."""
    records = reader.records(stream="control", kinds=(Kind.REVIEW_ANSWERED,), after_seq=seq)
    found = (ReviewAnswered.of(one) for one in records)
    return tuple(one for one in found if (one.review_seq, one.actor_name) == (seq, reviewer))


def answer_review(
    own: DeskParts, actor: str, seq: int, decision_id: str, body: ReviewAnswerBody
) -> dict[str, Any]:
    """Put an answer on record; return it beside the model's.

    Raises:
        UnknownDecisionError: the record is no sample, or the decision is not in it.
        ReviewRefusedError: he has answered, or opened the decision before.
        AuditError: the ledger does not take it.
    """
    looked, items = read_review(own.reader, seq, actor)
    item = next((one for one in items if one.decision_id == decision_id), None)
    if item is None:
        raise UnknownDecisionError(
            problem=f"review {seq} does not ask for decision {decision_id[:40]}"
        )
    if item.mine is not None:
        raise ReviewRefusedError(problem="this decision has your answer already; it stands")
    if (read := opened_by(own.reader, actor, decision_id)) is not None:
        raise ReviewRefusedError(
            problem=f"record {read} says that {actor} opened this decision, so the review would not"
            " be blind: leave it to another reviewer"
        )
    answered = ReviewAnswered(
        review_seq=looked.seq,
        reviewed_id=decision_id,
        answer=ReviewAnswer(body.answer),
        note=body.note,
        sheet_digest=_digest(item.sheet),
        actor_name=actor,
    )
    (record,) = own.tools.ledger.append(answered.draft())
    model = model_answer(own.reader, decision_id)
    return {"seq": record.seq, "answer": body.answer, "model": model.value}


def opened_by(reader: LedgerReader, person: str, decision_id: str) -> int | None:
    """Return the record of a person's look at a decision, or None."""
    names = {f"decision/{decision_id}", f"sheet/{decision_id}"}
    for record in reader.records(stream="control", kinds=(Kind.READ_RECORDED,)):
        read = ReadRecorded.of(record)
        if read.reader == person and read.object in names:
            return record.seq
    return None


def blind_sheet(reader: LedgerReader, decision_id: str) -> dict[str, Any]:
    """Return what was known before the decision: closes, news, quote, position; no answer."""
    sheet: dict[str, Any] = {"decision_id": decision_id}
    for record in _first_of_each(reader, decision_id):
        match record.kind:
            case Kind.SNAPSHOT_TAKEN:
                taken = SnapshotTaken.of(record)
                blob = reader.blob(taken.snapshot_blob)
                known = {} if blob is None else json.loads(blob)
                sheet |= {
                    "instrument": taken.instrument,
                    "as_of_us": taken.as_of_us,
                    "closes": [[bar[0], bar[-1]] for bar in known.get("bars", [])[-BARS_SHOWN:]],
                    "news": known.get("news", []),
                }
            case Kind.QUOTE_TAKEN:
                quote = QuoteTaken.of(record)
                sheet |= {"bid_ticks": quote.bid_ticks, "ask_ticks": quote.ask_ticks}
            case _:
                sizing = IntentProposed.of(record).sizing or {}
                names = ("current_lots", "current_exposure_bp", "equity_minor")
                sheet |= {name: sizing[name] for name in names if name in sizing}
    return sheet


def model_answer(reader: LedgerReader, decision_id: str) -> ReviewAnswer:
    """Return which order was proposed in a decision."""
    for record in _first_of_each(reader, decision_id):
        if record.kind is Kind.INTENT_PROPOSED:
            intent = IntentProposed.of(record).intent
            return ReviewAnswer.NONE if intent is None else ReviewAnswer(intent["side"].lower())
    return ReviewAnswer.NONE


def _first_of_each(reader: LedgerReader, decision_id: str) -> Iterator[Record]:
    """Yield the first snapshot, quote and proposal of a decision; a renewal's do not count."""
    seen: set[Kind] = set()
    for record in decision_records(reader, decision_id):
        if record.kind in SHOWN_KINDS and record.kind not in seen:
            seen.add(record.kind)
            yield record


def _looked(record: Record, said: Iterable[tuple[ReviewAnswered, ReviewAnswer]]) -> ReviewLook:
    answers: dict[str, int] = {}
    pairs = []
    for answered, model in said:
        answers[answered.actor_name] = answers.get(answered.actor_name, 0) + 1
        pairs.append((answered.answer, model))
    return ReviewLook(
        seq=record.seq,
        drawn=ReviewDrawn.of(record),
        answers=answers,
        agreement=agreement(pairs),
    )


def _day_of(record: Record) -> str:
    return datetime.fromtimestamp(record.recorded_at_us // 1_000_000, tz=UTC).date().isoformat()


def _digest(sheet: dict[str, Any]) -> str:
    return sha256(canonical(sheet)).hexdigest()
