"""One decision's records as the walk: a value per step, in order, for the template.

Not here: HTML, and any judgement. A step without a record is absent (None), and the page says so.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp

from markupsafe import Markup

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.evidence.decisions import last_word
from gateway.surfaces.web.views import formats
from gateway.surfaces.web.views.body import Body
from gateway.surfaces.web.views.oversight.gjr import GjrView, gjr_view
from gateway.surfaces.web.views.oversight.remarks import Remarks, remarks_of
from gateway.surfaces.web.views.oversight.verdicts import TrajectoryVerdicts, trajectory_verdicts
from gateway.surfaces.web.views.plots import Caption, Fan, Line, fan_chart, fan_range, line_plot
from gateway.surfaces.web.views.renewal import Compared, RenewalSteps, compared, split, steps_of
from gateway.surfaces.web.views.tables import (
    PromptPart,
    RuleRow,
    WordsView,
    prompt_parts,
    rule_rows,
    words_view,
)
from gateway.surfaces.web.views.tokens import TokensView, tokens_view
from gateway.walk.projections.forecasts import with_forecasts
from inference.errors import InferenceError
from inference.forecast.forecast import Forecast, forecast_from_document
from inference.snapshot import Snapshot, snapshot_from_document
from inference.speculation.evidence_bytes import decode_evidence
from inference.speculation.rounds import QTable
from risk.forms.money import minor_digits

PAST_SHOWN = 20
HISTORY_SHOWN = 120
MARKS_READ = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastView:
    """A forecast with its fan chart."""

    forecast: Forecast
    chart: Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class FixMessage:
    """One message on the wire; `way` is "out" or "in", `seq` the number of its record."""

    way: str
    raw: str
    seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRow:
    """One record of the decision's chain; `after_us` is the time since the record before it."""

    record: Record
    after_us: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JointView:
    """The joint paths that an intent was sized on: their record, members, and how pairs move.

    `pairs` has two instruments and their correlation; `shrunk_bp` says by how much the estimates
    were drawn towards independence.
    """

    seq: int
    members: tuple[tuple[str, int | None], ...]
    pairs: tuple[tuple[str, str, str], ...]
    shrunk_bp: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewedView:
    """What was sampled, priced and judged again after the approval."""

    compared: tuple[Compared, ...]
    steps: RenewalSteps
    target: ForecastView | None
    placebo: ForecastView | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionView:
    """The walk of one decision; a step that did not happen is None or an empty body."""

    decision_id: str
    start: Body
    run: Body
    request: Body
    snapshot: Snapshot | None
    history: Markup | None
    prompt: Body
    mode: Body
    parts: tuple[PromptPart, ...]
    rounds: Body
    drawn: Body
    tokens: TokensView | None
    target: ForecastView | None
    placebo: ForecastView | None
    trajectories: TrajectoryVerdicts | None
    happened: tuple[int, ...]
    failed: Body
    quote: Body
    proposed: Body
    joint: JointView | None
    verdict: Body
    rules: tuple[RuleRow, ...]
    placebo_judged: Body
    gjr: GjrView
    asked: Body
    answer: Body
    answer_kind: str
    messages: tuple[FixMessage, ...]
    reports: tuple[Body, ...]
    order: Body
    outcome: str
    waits: bool
    held_by: tuple[str, ...]
    policy: Body
    renewed: RenewedView | None
    intent_digest: str
    chain: tuple[RecordRow, ...]
    remarks: Remarks

    @property
    def words(self) -> WordsView | None:
        """What words did to the forecast and its order."""
        return words_view(self.proposed.child("words"))

    @property
    def currency(self) -> str:
        """Return the currency of the run's account, in which its prices and money are."""
        return self.run.text("currency", "USD")

    @property
    def tick(self) -> int:
        """Return one price step of the decision's instrument, in cents."""
        return tick_of(self.run, self.start.text("instrument"))


def decision_view(
    decision_id: str,
    records: tuple[Record, ...],
    reader: LedgerReader,
    table: QTable | None,
    path_page: int,
) -> DecisionView:
    """Return the walk of one decision as the approver saw it; `renewed` holds what came later."""
    shown, later = (with_forecasts(reader, part) for part in split(records))
    by_kind = {record.kind: Body(record.body) for record in shown}

    def last(*kinds: Kind) -> Body:
        return next((by_kind[kind] for kind in kinds if kind in by_kind), Body(None))

    taken = last(Kind.FORECAST_TAKEN)
    inputs = last(Kind.SNAPSHOT_TAKEN)
    snapshot = _snapshot(reader, inputs.text("snapshot_blob"))
    run = _run(reader, taken.text("run_id") or last(Kind.INTENT_RECEIVED).text("run_id"))
    currency = run.text("currency", "USD")
    tick = tick_of(run, taken.text("instrument") or last(Kind.INTENT_RECEIVED).text("instrument"))
    happened = _marks(reader, records[0].seq, taken, snapshot) if snapshot else ()
    made, beside = last(Kind.FORECAST_MADE), last(Kind.PLACEBO_MADE)
    keys = ("target", "placebo")
    target, placebo = _forecasts(made, beside, snapshot, happened, (currency, tick), *keys)
    answer_kind = next(
        (k.value for k in (Kind.APPROVAL_GIVEN, Kind.APPROVAL_REFUSED) if k in by_kind), ""
    )
    sealed, asked = last_word(reversed(records)), last(Kind.APPROVAL_REQUESTED)
    return DecisionView(
        decision_id=decision_id,
        run=run,
        start=Body({**last(Kind.INTENT_RECEIVED).fields, **inputs.fields, **taken.fields}),
        request=last(Kind.INTENT_RECEIVED).child("request"),
        snapshot=snapshot,
        history=_history(snapshot, currency, tick) if snapshot else None,
        prompt=last(Kind.FORECAST_REQUESTED),
        mode=last(Kind.MODE_CHOSEN),
        parts=prompt_parts(last(Kind.FORECAST_REQUESTED).wholes("prompt_ids")),
        rounds=last(Kind.ROUNDS_CAPTURED),
        drawn=last(Kind.TOKENS_DRAWN),
        tokens=_tokens(reader, last(Kind.ROUNDS_CAPTURED).text("capture_blob"), table, path_page),
        target=target,
        placebo=placebo,
        trajectories=trajectory_verdicts(reader, made),
        happened=happened,
        failed=taken if taken.text("missing") else Body(None),
        quote=last(Kind.QUOTE_TAKEN),
        proposed=last(Kind.INTENT_PROPOSED),
        joint=_joint(reader, last(Kind.INTENT_PROPOSED)),
        verdict=last(Kind.VERDICT_GIVEN),
        rules=rule_rows(last(Kind.VERDICT_GIVEN).child("verdict"), currency, tick),
        placebo_judged=last(Kind.PLACEBO_JUDGED),
        gjr=gjr_view(last(Kind.GJR_MADE), last(Kind.GJR_JUDGED)),
        asked=asked,
        answer=last(Kind.APPROVAL_GIVEN, Kind.APPROVAL_REFUSED),
        answer_kind=answer_kind,
        messages=tuple(_messages(records, reader)),
        reports=tuple(Body(r.body) for r in records if r.kind is Kind.ORDER_REPORTED),
        order=last(Kind.ORDER_SENDING),
        outcome=sealed or last_verdict(records).text("result") or "open",
        held_by=held_by(last(Kind.VERDICT_GIVEN)),
        policy=_policy(reader, records),
        renewed=_renewed(shown, later, snapshot, happened, (currency, tick)),
        waits=bool(asked) and not answer_kind and not sealed,
        intent_digest=asked.text("intent_digest")
        or last(Kind.VERDICT_GIVEN).child("verdict").text("intent_digest"),
        chain=_chain(with_forecasts(reader, records)),
        remarks=remarks_of(reader, decision_id, records),
    )


def _joint(reader: LedgerReader, proposed: Body) -> JointView | None:
    """Return the joint paths that an intent names; None where the book is one instrument."""
    seq = proposed.child("paths").child("joint").whole("of_seq")
    record = None if seq is None else reader.record(seq)
    if record is None or record.kind is not Kind.PATHS_JOINED:
        return None
    body = Body(record.body)
    members = tuple(
        (one.text("instrument"), one.whole("of_seq")) for one in body.children("members")
    )
    names = [name for name, _ in members]
    pairs = [(names[j], names[i]) for i in range(len(names)) for j in range(i)]
    said = zip(pairs, body.wholes("correlation_1e6"), strict=False)
    return JointView(
        seq=record.seq,
        members=members,
        pairs=tuple((one, other, f"{value / 1e6:.2f}") for (one, other), value in said),
        shrunk_bp=body.whole("shrunk_bp"),
    )


def _chain(records: Sequence[Record]) -> tuple[RecordRow, ...]:
    """Return each record with the time since the one before it."""
    before = [None, *(one.recorded_at_us for one in records)]
    return tuple(
        RecordRow(record=one, after_us=None if last is None else one.recorded_at_us - last)
        for one, last in zip(records, before, strict=False)
    )


def last_verdict(records: Sequence[Record]) -> Body:
    """Return the newest verdict, which may be a renewal's."""
    given = [record.body for record in records if record.kind is Kind.VERDICT_GIVEN]
    return Body(given[-1] if given else None)


def held_by(verdict: Body) -> tuple[str, ...]:
    """Return the rules that asked for a person, whatever the verdict."""
    results = verdict.child("verdict").children("results")
    return tuple(one.text("rule_id") for one in results if one.text("action") == "HOLD")


def _policy(reader: LedgerReader, records: Sequence[Record]) -> Body:
    """Return the activation record of the policy that the decision's records name last."""
    bodies = [Body(record.body) for record in records]
    named = [digest for body in bodies if (digest := body.text("policy_digest"))]
    if not named:
        return Body(None)
    activated = reader.records(
        stream="control",
        kinds=(Kind.POLICY_ACTIVATED,),
        before_seq=records[-1].seq,
        newest_first=True,
    )
    policies = (Body(record.body) for record in activated)
    found = (policy for policy in policies if policy.text("policy_digest") == named[-1])
    return next(found, Body({"policy_digest": named[-1]}))


def _renewed(
    shown: Sequence[Record],
    later: Sequence[Record],
    snapshot: Snapshot | None,
    happened: tuple[int, ...],
    unit: tuple[str, int],
) -> RenewedView | None:
    given = next((r.body for r in shown if r.kind is Kind.APPROVAL_GIVEN), None)
    if given is None or not later:
        return None
    steps = steps_of(later, *unit)
    target, placebo = _forecasts(
        steps.made, steps.placebo, snapshot, happened, unit, "renewed-target", "renewed-placebo"
    )
    return RenewedView(
        compared=compared(steps_of(shown, *unit), steps, Body(given).child("band")),
        steps=steps,
        target=target,
        placebo=placebo,
    )


def tick_of(run: Body, instrument: str) -> int:
    """Return one price step of an instrument, in cents, as the run's table had it."""
    listed = {one.text("symbol"): one.whole("tick_minor") for one in run.children("instruments")}
    return listed.get(instrument) or 1


def _run(reader: LedgerReader, run_id: str) -> Body:
    started = reader.by_key("control", f"run_started:{run_id}") if run_id else None
    return Body(None if started is None else started.body)


def _snapshot(reader: LedgerReader, digest: str) -> Snapshot | None:
    raw = reader.blob(digest) if digest else None
    if raw is None:
        return None
    try:
        return snapshot_from_document(json.loads(raw))
    except (ValueError, InferenceError):
        return None


def _tokens(
    reader: LedgerReader, digest: str, table: QTable | None, page: int
) -> TokensView | None:
    raw = reader.blob(digest) if digest else None
    if raw is None:
        return None
    try:
        return tokens_view(decode_evidence(raw), table, page)
    except InferenceError:
        return None


def _marks(reader: LedgerReader, seq: int, taken: Body, snapshot: Snapshot) -> tuple[int, ...]:
    """Return the closes after the decision, in ticks, as far as the run has come."""
    run_id, as_of = taken.text("run_id"), snapshot.as_of_us
    found: dict[int, int] = {}
    for record in reader.records(
        stream=f"market/{taken.text('instrument')}",
        kinds=(Kind.MARK_TAKEN,),
        after_seq=seq,
        limit=MARKS_READ,
    ):
        body = Body(record.body)
        time_us, ticks = body.whole("market_time_us"), body.whole("price_ticks")
        ours = body.text("run_id") == run_id and body.text("kind") not in {"open", "feed"}
        if ours and time_us and ticks and time_us > as_of:
            found[time_us] = ticks
    return tuple(ticks for _, ticks in sorted(found.items()))


def _history(snapshot: Snapshot, currency: str, tick: int) -> Markup:
    bars = snapshot.bars[-HISTORY_SHOWN:]
    first, last = formats.day(bars[0].close_time_us), formats.day(bars[-1].close_time_us)
    caption = Caption(
        key="history",
        title=f"Closes of {snapshot.instrument}",
        desc=f"{len(bars)} closes from {first} to {last}, the last at"
        f" {formats.price(bars[-1].close_ticks, tick, currency)} {currency}",
    )
    unit = 10 ** minor_digits(currency)
    line = Line(name="close", values=tuple(bar.close_ticks * tick / unit for bar in bars))
    return line_plot((line,), caption, labels=(first, last), zero=False)


def _forecasts(
    made: Body,
    placebo: Body,
    snapshot: Snapshot | None,
    happened: tuple[int, ...],
    unit: tuple[str, int],
    *keys: str,
) -> tuple[ForecastView | None, ForecastView | None]:
    read = [_forecast(made.fields.get("forecast")), _forecast(placebo.fields.get("forecast"))]
    if snapshot is None:
        return None, None
    fans = [_fan(f, snapshot, happened, unit) if f else None for f in read]
    limits = fan_range(*(fan for fan in fans if fan))
    views: list[ForecastView | None] = []
    for forecast, fan, key in zip(read, fans, keys, strict=True):
        if forecast is None or fan is None:
            views.append(None)
            continue
        low, high = fan.bands[0][1][-1], fan.bands[-1][1][-1]
        caption = Caption(
            key=f"fan-{key}",
            title=f"Forecast of the {forecast.source.value} model against what happened",
            desc=f"90 % of {forecast.n_paths} paths end between {low:,.2f} and {high:,.2f} after"
            f" {forecast.horizon} bars; {len(fan.actual)} later closes are known"
            + (f", the last {fan.actual[-1]:,.2f}" if fan.actual else ""),
        )
        views.append(ForecastView(forecast=forecast, chart=fan_chart(fan, caption, limits)))
    return views[0], views[1]


def _forecast(document: JSON) -> Forecast | None:
    if not isinstance(document, dict):
        return None
    try:
        return forecast_from_document(document)
    except InferenceError:
        return None


def _fan(
    forecast: Forecast, snapshot: Snapshot, happened: tuple[int, ...], unit: tuple[str, int]
) -> Fan:
    """Return the fan; `unit` is the currency, and one price step in minor units."""
    bars, tick, one = snapshot.bars[-PAST_SHOWN:], unit[1], 10 ** minor_digits(unit[0])
    last = bars[-1].close_ticks * tick / one
    return Fan(
        past=tuple(bar.close_ticks * tick / one for bar in bars),
        bands=tuple(
            (level, tuple(last * exp(value / 1e8) for value in row))
            for level, row in zip(forecast.levels_bp, forecast.quantiles_1e8, strict=True)
        ),
        actual=tuple(ticks * tick / one for ticks in happened[: forecast.horizon]),
        labels=(
            formats.day(bars[0].close_time_us),
            f"as of {formats.day(forecast.as_of_us)}",
            f"+{forecast.horizon} bars",
        ),
    )


def _messages(records: tuple[Record, ...], reader: LedgerReader) -> Iterator[FixMessage]:
    for record in records:
        body = Body(record.body)
        if record.kind in {Kind.ORDER_SENT, Kind.CANCEL_SENT}:
            yield FixMessage(way="out", raw=body.text("raw"), seq=record.seq)
        elif record.kind is Kind.ORDER_REPORTED:
            stream = f"session/{body.text('session')}"
            inbound = reader.by_key(stream, f"inbound:{body.whole('inbox_offset')}")
            raw = Body(inbound.body).text("raw") if inbound else ""
            yield FixMessage(way="in", raw=raw, seq=(inbound or record).seq)
