"""What a replay knows of one attempt at a forecast: its records, run and policy, and what follows.

The run and the policy are those in force when the attempt was opened; a decision that names it may
be of a later run.

Not here: what a step recomputes (`forecast`).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.errors import ReplayDiffersError
from gateway.walk.journal.decision import policy_named
from gateway.walk.journal.forecast import FAILED, ForecastFailed, ModeChosen
from gateway.walk.journal.form import refuse_form
from gateway.walk.journal.run import ModelLoaded, PolicyActivated, RunStarted
from gateway.walk.ports import Forecasting, SamplingPlan, Tags
from gateway.walk.projections.forecasts import StandingForecast
from gateway.walk.sampled.planning import LookedInto
from inference.codec.codec import ReturnCodec
from inference.codec.prompt import Prompt
from inference.codec.text.codec import TextCodec
from inference.forecast.forecast import Forecast, Sampled
from inference.speculation.direct import DirectCapture
from inference.speculation.evidence import Evidence
from inference.speculation.rounds import QTable
from risk.forms.documents import value_of
from risk.policy.policy import Policy, policy_from_document
from risk.state.instrument import Instrument
from risk.state.paths.marginal import Marginal


@dataclass(slots=True, kw_only=True)
class RequestAgain:
    """What a request recomputed to."""

    seed: bytes
    plan: SamplingPlan
    blank: Prompt | None
    record: Record


@dataclass(kw_only=True)
class ForecastPast:
    """One attempt's records, and what was recomputed from them so far.

    Attributes:
        forecast_id: the id in the stream's name.
        attempt: the number in it.
        own: the attempt, once its snapshot is read; `prompt` and `codec` follow from it.
        paths: the paths by the kind of their record; empty under a policy of format 1.
        placebo: the table's forecast, `gjr` and `news` those of the other twins, if there are any.
        standing: the forecast as decisions read it, once the attempt is sealed as made.
        outcome: the word that seals it, and `sealed_seq` the seal's number.
    """

    reader: LedgerReader
    table: QTable
    forecast_id: str
    attempt: int
    records: tuple[Record, ...]
    run: RunStarted
    policy: Policy
    policy_named: Mapping[str, JSON]
    codec: ReturnCodec = field(default_factory=ReturnCodec)
    text: TextCodec | None = None  # the pair's own codec, where it is one of words
    own: Forecasting | None = None
    prompt: Prompt | None = None
    chosen: ModeChosen | None = None
    asked: RequestAgain | None = None
    capture: Evidence | None = None
    drawn: DirectCapture | None = None
    blob: str = ""
    sampled: Sampled | None = None
    news_capture: Evidence | None = None
    placebo: Forecast | None = None
    gjr: Forecast | None = None
    paths: dict[Kind, Marginal] = field(default_factory=dict)
    standing: StandingForecast | None = None
    outcome: str = ""
    sealed_seq: int = -1

    @classmethod
    def of(
        cls, reader: LedgerReader, table: QTable, stream: str, text: TextCodec | None = None
    ) -> "ForecastPast":
        """Find an attempt with the run and the policy that were in force when it was opened.

        Raises:
            ReplayDiffersError: when there is none.
        """
        records = tuple(reader.records(stream=stream))
        forecast_id, _, number = stream.removeprefix("forecast/").rpartition(".")
        if not records:
            step = Kind.SNAPSHOT_TAKEN.value
            raise ReplayDiffersError(step=step, detail=f"{stream} is not on record")
        run, policy = in_force(reader, records[0].seq)
        return cls(
            reader=reader,
            table=table,
            forecast_id=forecast_id,
            attempt=int(number),
            records=records,
            run=run,
            policy=policy,
            policy_named=policy_named(policy),
            text=text,
        )

    @property
    def name(self) -> str:
        """The attempt's name, unique in the ledger."""
        return f"{self.forecast_id}.{self.attempt}"

    @cached_property
    def looked(self) -> LookedInto:
        """The events that forecasts on record have looked into."""
        return LookedInto(self.reader)

    @property
    def tags(self) -> Tags:
        """The tags that every record of the attempt must carry."""
        return Tags(account="", run_id=self.run.run_id, mode=self.run.mode, dev=self.run.dev)

    @property
    def target(self) -> Forecast | None:
        """The forecast itself; None before it is recomputed."""
        return None if self.sampled is None else self.sampled.forecast

    @property
    def sampled_once(self) -> bool:
        """Whether a capture is on record, so that the attempt fails by itself or not at all."""
        return self.capture is not None or self.drawn is not None

    @property
    def failed(self) -> ForecastFailed | None:
        """Why there is no forecast; None unless the attempt is sealed as failed."""
        if self.outcome != FAILED:
            return None
        return ForecastFailed.of(next(self.of_kind(Kind.FORECAST_FAILED)))

    def of_kind(self, kind: Kind, *, before: Record | None = None) -> Iterator[Record]:
        """Yield the attempt's records of a kind, before another record."""
        return (
            one
            for one in self.records
            if one.kind is kind and (before is None or one.seq < before.seq)
        )

    def opened(self, record: Record) -> tuple[Forecasting, Prompt]:
        """Return the attempt and its prompt, which follow from the snapshot."""
        if self.own is None or self.prompt is None:
            raise ReplayDiffersError(step=record.kind.value, detail="no snapshot_taken before it")
        return self.own, self.prompt

    def requested(self, record: Record) -> RequestAgain:
        """Return what the request recomputed to."""
        if self.asked is None:
            detail = "no forecast_requested before it"
            raise ReplayDiffersError(step=record.kind.value, detail=detail)
        return self.asked


def in_force(reader: LedgerReader, before_seq: int) -> tuple[RunStarted, Policy]:
    """Return the run and the policy that were in force before a record.

    Raises:
        ReplayDiffersError: when there was none.
    """
    run = RunStarted.of(control(reader, Kind.RUN_STARTED, before_seq)[-1])
    refuse_form(run.record_rules)
    activated = control(reader, Kind.POLICY_ACTIVATED, before_seq)[-1]
    return run, policy_from_document(PolicyActivated.of(activated).policy)


def control(reader: LedgerReader, kind: Kind, before_seq: int) -> list[Record]:
    """Return the control stream's records of a kind before another record.

    Raises:
        ReplayDiffersError: when there is none.
    """
    found = list(reader.records(stream="control", kinds=(kind,), before_seq=before_seq))
    if not found:
        raise ReplayDiffersError(step=kind.value, detail="is not on record before it")
    return found


def instrument_of(run: RunStarted, symbol: str) -> Instrument:
    """Return an instrument of a run."""
    listed = (value_of(Instrument, i) for i in run.instruments)
    return {i.symbol: i for i in listed}[symbol]


def loaded_in(reader: LedgerReader, run_ids: Iterable[str]) -> list[ModelLoaded]:
    """Return what was loaded in some runs."""
    wanted = set(run_ids)
    records = reader.records(stream="control", kinds=(Kind.MODEL_LOADED,))
    return [one for one in map(ModelLoaded.of, records) if one.run_id in wanted]


def refuse_unloaded(reader: LedgerReader, run_ids: Iterable[str], digest: str, step: str) -> None:
    """Refuse the weights of a forecast that these runs did not load, unless they loaded none.

    Raises:
        ReplayDiffersError: they loaded others.
    """
    loaded = {one.manifest for one in loaded_in(reader, run_ids)}
    if loaded and digest not in loaded:
        raise ReplayDiffersError(step=step, detail="its model was not loaded in this run")
