"""Replay: recompute one decision from the ledger alone; name the first step that differs.

It makes up to three separate statements: every step follows exactly from the record; the rows
behind it follow from the weights, within a tolerance (`weights`); on request, the engine gives the
same bits (`engine`).

Each record is made again, whole, by the function that made it, and compared: kind, actor, key and
payload. Only readings that no other record states are taken as they stand: a clock's, a duration, a
person's or another process's words. A step without its counterpart differs. The forecasts that a
decision names are recomputed with it, each from its own stream.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.errors import ReplayDiffersError, UnknownDecisionError
from gateway.evidence.replay import answers
from gateway.evidence.replay import intent as replay_intent
from gateway.evidence.replay import weights as replay_rows
from gateway.evidence.replay.engine import sampled_again
from gateway.evidence.replay.forecasts.again import ForecastsAgain
from gateway.evidence.replay.forecasts.forecast import forecast_replayed
from gateway.evidence.replay.orders import cancel as replay_cancels
from gateway.evidence.replay.orders import order as replay_orders
from gateway.evidence.replay.orders import replace as replay_replaces
from gateway.evidence.replay.pairs import Pairs, text_codec_of
from gateway.evidence.replay.past import Past
from gateway.evidence.replay.steps import step, stepped
from gateway.evidence.replay.taken import forecast_taken
from gateway.installation.place import Place
from gateway.walk.projections.forecasts import decision_records
from inference.codec.text.codec import TextCodec
from inference.speculation.rounds import QTable
from inference.weights.registry import load_table

Step = Callable[[Past, Record], str]

STEPS: Final[Mapping[Kind, Step]] = {
    Kind.INTENT_RECEIVED: replay_intent.intent_received,
    Kind.FORECAST_TAKEN: forecast_taken,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """What a replay has recomputed, in order; `rows` are questions to the weights.

    `seqs` are the records of the lines: those of a forecast stand before the record that names it.
    """

    lines: tuple[str, ...]
    seqs: tuple[int, ...]
    rows: tuple[replay_rows.RowQuestion, ...] = ()


def replay_decision(place: Place, decision_id: str, *, engine: bool = False) -> int:
    """Replay and print each step; return 0 if all are equal, 1 if one differs.

    With `engine`, start the engine and sample again.

    Raises:
        PairMissingError: the weights of its forecasts are not at hand.
    """
    pair = Pairs(place.settings.engine.model).of(decision_records(place.reader, decision_id))
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
    reader: LedgerReader,
    table: QTable,
    decision_id: str,
    text: TextCodec | None = None,
    forecasts: ForecastsAgain | None = None,
) -> Steps:
    """Recompute every recorded step of a decision; `text` is the codec of its text pair.

    `forecasts` are those that decisions before it had recomputed.

    Raises:
        UnknownDecisionError: when there is none with that id.
        ReplayDiffersError: when a step differs or cannot be recomputed; names the first.
    """
    found = list(replayed(reader, table, decision_id, text, forecasts))
    made = [one.made for one in found[-1][0].attempts if one.made is not None]
    return _steps([(record, said) for _, record, said in found], replay_rows.questions(made))


def replay_forecast(
    reader: LedgerReader, table: QTable, name: str, text: TextCodec | None = None
) -> Steps:
    """Recompute one attempt at a forecast, by itself; `name` is its id with the attempt's number.

    Raises:
        ReplayDiffersError: there is none, or a step differs or cannot be recomputed; names it.
    """
    found = list(forecast_replayed(reader, table, f"forecast/{name}", text))
    rows = replay_rows.questions([found[-1][0]])
    return _steps([(record, said) for _, record, said in found], rows)


def _steps(said: Iterable[tuple[Record, str]], rows: tuple[replay_rows.RowQuestion, ...]) -> Steps:
    told = [(record.seq, f"{record.kind.value:18} {remark}") for record, remark in said]
    return Steps(
        lines=tuple(line for _, line in told), seqs=tuple(seq for seq, _ in told), rows=rows
    )


def replayed(
    reader: LedgerReader,
    table: QTable,
    decision_id: str,
    text: TextCodec | None = None,
    forecasts: ForecastsAgain | None = None,
) -> Iterator[tuple[Past, Record, str]]:
    """Recompute a decision record by record; yield each with what is known then and a remark.

    The records of a forecast come before the one that names it.

    Raises:
        UnknownDecisionError: when there is none with that id.
        ReplayDiffersError: when a step differs or cannot be recomputed; names the first.
    """
    records = list(reader.records(stream=f"decision/{decision_id}"))
    if not records:
        raise UnknownDecisionError(problem=f"no decision {decision_id}")
    with step(Kind.RUN_STARTED.value):
        past = Past.of(reader, table, decision_id, records, text)
    if forecasts is not None:
        past.forecasts = forecasts
    for record, remark in stepped(past, past.records, STEPS):
        told, past.remarks = past.remarks, []
        for one, said in told:
            yield past, one, said
        yield past, record, remark
