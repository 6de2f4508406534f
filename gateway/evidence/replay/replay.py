"""Replay: recompute one decision from the ledger alone; name the first step that differs.

It makes up to three separate statements: every step follows exactly from the record; the rows
behind it follow from the weights, within a tolerance (`weights`); on request, the engine gives the
same bits (`engine`).

Each record is made again, whole, by the function that made it, and compared: kind, actor, key and
payload. Only readings that no other record states are taken as they stand: a clock's, a duration, a
person's or another process's words. A step without its counterpart differs.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from audit.errors import CanonicalError, DraftError
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from fix.errors import FixError
from gateway.errors import GatewayError, ReplayDiffersError, UnknownDecisionError
from gateway.evidence.replay import answers
from gateway.evidence.replay import forecast as replay_forecast
from gateway.evidence.replay import intent as replay_intent
from gateway.evidence.replay import planning as replay_plan
from gateway.evidence.replay import weights as replay_rows
from gateway.evidence.replay.engine import sampled_again
from gateway.evidence.replay.orders import cancel as replay_cancels
from gateway.evidence.replay.orders import order as replay_orders
from gateway.evidence.replay.orders import replace as replay_replaces
from gateway.evidence.replay.pairs import Pairs, text_codec_of
from gateway.evidence.replay.past import Past
from gateway.installation.place import Place
from inference.codec.text.codec import TextCodec
from inference.errors import InferenceError
from inference.speculation.rounds import QTable
from inference.weights.registry import load_table
from risk.errors import RiskError

Step = Callable[[Past, Record], str]

STEPS: Final[Mapping[Kind, Step]] = {
    Kind.INTENT_RECEIVED: replay_intent.intent_received,
    Kind.SNAPSHOT_TAKEN: replay_forecast.snapshot_taken,
    Kind.MODE_CHOSEN: replay_plan.mode_chosen,
    Kind.FORECAST_REQUESTED: replay_forecast.forecast_requested,
    Kind.ROUNDS_CAPTURED: replay_forecast.rounds_captured,
    Kind.FORECAST_MADE: replay_forecast.forecast_made,
    Kind.FORECAST_FAILED: replay_forecast.forecast_failed,
    Kind.PLACEBO_MADE: replay_forecast.placebo_made,
    Kind.GJR_MADE: replay_forecast.gjr_made,
    Kind.NEWS_TWIN_MADE: replay_forecast.news_twin_made,
    Kind.QUOTE_TAKEN: replay_intent.quote_taken,
    Kind.PLACEBO_JUDGED: replay_intent.placebo_judged,
    Kind.GJR_JUDGED: replay_intent.gjr_judged,
    Kind.INTENT_PROPOSED: replay_intent.intent_proposed,
    Kind.VERDICT_GIVEN: replay_intent.verdict_given,
    Kind.APPROVAL_REQUESTED: answers.approval_requested,
    Kind.APPROVAL_RESUMED: answers.approval_resumed,
    Kind.APPROVAL_GIVEN: answers.approval_given,
    Kind.APPROVAL_REFUSED: answers.approval_refused,
    Kind.RESERVATION_RELEASED: answers.reservation_released,
    Kind.ORDER_SENDING: replay_orders.order_sending,
    Kind.ORDER_SENT: replay_orders.order_sent,
    Kind.ORDER_REFUSED: replay_orders.order_not_sent,
    Kind.ORDER_UNKNOWN: replay_orders.order_not_sent,
    Kind.ORDER_WITHDRAWN: replay_orders.order_withdrawn,
    Kind.ORDER_REPORTED: replay_orders.order_reported,
    Kind.ORDER_ENDED: replay_orders.order_ended,
    Kind.CANCEL_REQUESTED: replay_cancels.cancel_requested,
    Kind.CANCEL_ENDED: replay_cancels.cancel_ended,
    Kind.REPLACE_REQUESTED: replay_replaces.replace_requested,
    Kind.REPLACE_SENT: replay_replaces.replace_sent,
    Kind.REPLACE_ENDED: replay_replaces.replace_ended,
    Kind.DECISION_SEALED: replay_orders.decision_sealed,
}
"""How each kind of a decision's stream is recomputed, in walk order."""

UNREADABLE: Final = (
    RiskError,
    InferenceError,
    FixError,
    GatewayError,
    CanonicalError,
    DraftError,
    LookupError,
    ArithmeticError,
    ValueError,
    TypeError,
    AttributeError,
)
"""What an altered value can raise; database errors are not among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """What a replay has recomputed, in order; `rows` are questions to the weights."""

    lines: tuple[str, ...]
    rows: tuple[replay_rows.RowQuestion, ...] = ()


def replay_decision(place: Place, decision_id: str, *, engine: bool = False) -> int:
    """Replay and print each step; return 0 if all are equal, 1 if one differs.

    With `engine`, start the engine and sample again.

    Raises:
        PairMissingError: the weights of its forecasts are not at hand.
    """
    stream = place.reader.records(stream=f"decision/{decision_id}")
    pair = Pairs(place.settings.engine.model).of(stream)
    table = load_table(pair)
    try:
        steps = replay(place.reader, table, decision_id, text_codec_of(pair))
        for line in steps.lines:
            sys.stdout.write(f"equal   {line}\n")
        sys.stdout.flush()
        for question in steps.rows:
            sys.stdout.write(f"rows    {replay_rows.regenerated(question, pair)}\n")
        sys.stdout.flush()
        for line in sampled_again(steps.rows, pair, table) if engine else ():
            sys.stdout.write(f"engine  {line}\n")
    except ReplayDiffersError as difference:
        sys.stdout.write(f"DIFFERS {decision_id}: {difference}\n")
        return 1
    sys.stdout.write(f"REPLAYED {decision_id}: every recorded step recomputes to the same bytes\n")
    return 0


def replay(
    reader: LedgerReader, table: QTable, decision_id: str, text: TextCodec | None = None
) -> Steps:
    """Recompute every recorded step of a decision; `text` is the codec of its text pair.

    Raises:
        UnknownDecisionError: when there is none with that id.
        ReplayDiffersError: when a step differs or cannot be recomputed; names the first.
    """
    lines: list[str] = []
    rows: tuple[replay_rows.RowQuestion, ...] = ()
    for past, record, said in replayed(reader, table, decision_id, text):
        lines.append(f"{record.kind.value:18} {said}")
        if len(lines) == len(past.records):
            rows = replay_rows.questions(past)
    return Steps(lines=tuple(lines), rows=rows)


def replayed(
    reader: LedgerReader, table: QTable, decision_id: str, text: TextCodec | None = None
) -> Iterator[tuple[Past, Record, str]]:
    """Recompute a decision record by record; yield each with what is known then and a remark.

    Raises:
        UnknownDecisionError: when there is none with that id.
        ReplayDiffersError: when a step differs or cannot be recomputed; names the first.
    """
    records = list(reader.records(stream=f"decision/{decision_id}"))
    if not records:
        raise UnknownDecisionError(problem=f"no decision {decision_id}")
    with _step("run_started"):
        past = Past.of(reader, table, decision_id, records, text)
    for number, record in enumerate(records):
        with _step(record.kind.value):
            if record.stream_seq != number:
                raise ReplayDiffersError(
                    step=record.kind.value, detail="a record before it is missing"
                )
            again = STEPS.get(record.kind)
            if again is None:
                raise ReplayDiffersError(step=record.kind.value, detail="no step of a decision")
            remark = again(past, record)
        yield past, record, remark


@contextmanager
def _step(name: str) -> Iterator[None]:
    """Turn what an altered value raises into `ReplayDiffersError`."""
    try:
        yield
    except ReplayDiffersError:
        raise
    except UNREADABLE as error:
        detail = f"cannot be recomputed: {type(error).__name__}: {str(error)[:200]}"
        raise ReplayDiffersError(step=name, detail=detail) from error
