"""Forecasts against what came: which are due, their scores, and what all scores say.

Pure but for reading blobs. The thread that writes scores and the check that computes them again
call the same functions.

Rules:
- What came is read from the first later snapshot of the instrument that has the forecast's last bar
  and enough bars after it. So the ledger alone decides, and a restated price counts as restated.
- A forecast is scored at its first bar and at its last. Without recorded paths (a policy of
  format 1) it is not scored.
- A forecast is scored once, however many decisions rest on it.
- Of several forecasts from one bar, the first alone counts as evidence.
"""

import json
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any, Final

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.walk.journal.control.oversight.scores import (
    ForecastScored,
    Scored,
)
from gateway.walk.journal.forecast import ForecastMade, SnapshotTaken
from inference.forecast.outcome import Calibration, move_1e8, score_paths
from inference.snapshot import BAR_US, Snapshot, snapshot_from_document
from risk.forms.documents import value_of
from risk.state.paths.marginal import Marginal

SCORE_KINDS: Final = (
    Kind.SNAPSHOT_TAKEN,
    Kind.FORECAST_MADE,
    Kind.PLACEBO_MADE,
    Kind.FORECAST_SCORED,
)
DRIFTED_MILLI: Final = 20_000
"""Evidence from which operators are told, 1/1,000: a calibrated model gets there once in twenty."""
_PREFIX: Final = "forecast/"


@dataclass(slots=True, kw_only=True)
class _Unscored:
    """A forecast that waits for its bars; `base_us`, `bar_us`, `steps` are those of its paths."""

    name: str
    made: ForecastMade
    seq: int
    table_blob: str = ""
    base_us: int
    bar_us: int
    steps: set[int]


class Outcomes:
    """Folds the records of `SCORE_KINDS` in order; `take` returns what became due."""

    def __init__(self, reader: LedgerReader, finished: Container[str] = frozenset()) -> None:
        """Start with nothing read; forecasts that are `finished` are left out, and not loaded."""
        self._reader = reader
        self._finished = finished
        self._open: dict[str, dict[str, _Unscored]] = {}

    def take(self, record: Record) -> tuple[ForecastScored, ...]:
        """Read one record; return the scores that a snapshot makes possible.

        Raises:
            ValueError: a record or blob does not read.
        """
        match record.kind:
            case Kind.FORECAST_MADE | Kind.PLACEBO_MADE:
                self._made(record)
            case Kind.FORECAST_SCORED:
                self._scored(ForecastScored.of(record))
            case Kind.SNAPSHOT_TAKEN:
                return tuple(self._due(SnapshotTaken.of(record), record.seq))
            case _:
                pass
        return ()

    def _made(self, record: Record) -> None:
        made, name = ForecastMade.of(record), record.stream.removeprefix(_PREFIX)
        if not made.paths_blob or name in self._finished:
            return
        waiting = self._open.setdefault(made.instrument, {})
        if record.kind is Kind.FORECAST_MADE:
            paths = self._paths(made.paths_blob)
            waiting[name] = _Unscored(
                name=name,
                made=made,
                seq=record.seq,
                base_us=paths.times_us[-1] if paths.times_us else -1,
                bar_us=paths.bar_us,
                steps={1, paths.steps},
            )
        elif name in waiting:
            waiting[name].table_blob = made.paths_blob

    def _scored(self, scored: ForecastScored) -> None:
        waiting = self._open.get(scored.instrument, {})
        name = scored.scored_id
        if name in waiting:
            waiting[name].steps.discard(scored.step)
            if not waiting[name].steps:
                del waiting[name]

    def _due(self, taken: SnapshotTaken, seq: int) -> Iterator[ForecastScored]:
        waiting = self._open.get(taken.instrument)
        if not waiting:
            return
        snapshot = snapshot_from_document(json.loads(self._blob(taken.snapshot_blob)))
        places = {bar.close_time_us: n for n, bar in enumerate(snapshot.bars)}
        for name, one in list(waiting.items()):
            if one.base_us < snapshot.bars[0].close_time_us:
                del waiting[name]  # what came has left the snapshots
            base = places.get(one.base_us)
            if base is None or one.bar_us != BAR_US[snapshot.frequency]:
                continue
            for step in sorted(one.steps):
                if base + step < len(snapshot.bars):
                    paths = self._paths(one.made.paths_blob)
                    yield self._score(one, paths, snapshot, base, step, seq)

    def _score(
        self, one: _Unscored, paths: Marginal, snapshot: Snapshot, base: int, step: int, seq: int
    ) -> ForecastScored:
        begun, ended = snapshot.bars[base], snapshot.bars[base + step]
        came = move_1e8(begun.close_ticks, ended.close_ticks)
        table = self._paths(one.table_blob) if one.table_blob else None
        return ForecastScored(
            scored_id=one.name,
            instrument=snapshot.instrument,
            attempt=one.made.attempt,
            step=step,
            forecast_seq=one.seq,
            snapshot_seq=seq,
            base_us=begun.close_time_us,
            came_us=ended.close_time_us,
            came_1e8=came,
            model_digest=one.made.model_digest,
            target=_of_paths(paths, step, came, one.name),
            table=None if table is None else _of_paths(table, step, came, one.name),
        )

    def _paths(self, digest: str) -> Marginal:
        return value_of(Marginal, json.loads(self._blob(digest)))

    def _blob(self, digest: str) -> bytes:
        data = self._reader.blob(digest)
        if data is None:
            raise ValueError(f"blob {digest} is missing")
        return data


def _of_paths(paths: Marginal, step: int, came_1e8: int, tie_break: str) -> Scored:
    score = score_paths([path[step - 1] for path in paths.moves_1e8], came_1e8, tie_break)
    return Scored(
        paths=score.paths, crps_1e8=score.crps_1e8, rank=score.rank, mean_1e8=score.mean_1e8
    )


@dataclass(slots=True)
class ScoreLine:
    """The scores of one instrument at one step; sums of CRPS are in 1e-8.

    `paired` counts the forecasts that the table's twin was scored beside.
    """

    instrument: str
    step: int
    scored: int = 0
    target_1e8: int = 0
    paired: int = 0
    paired_target_1e8: int = 0
    paired_table_1e8: int = 0
    newest_seq: int = -1

    def take(self, seq: int, one: ForecastScored) -> None:
        """Count one score."""
        self.scored += 1
        self.target_1e8 += one.target.crps_1e8
        self.newest_seq = seq
        if one.table is not None:
            self.paired += 1
            self.paired_target_1e8 += one.target.crps_1e8
            self.paired_table_1e8 += one.table.crps_1e8

    def document(self) -> dict[str, Any]:
        """Return it for the API and the command line; means in 1e-8, the ratio in 1/10,000."""
        table = self.paired_table_1e8
        return {
            "instrument": self.instrument,
            "step": self.step,
            "scored": self.scored,
            "crps_1e8": self.target_1e8 // self.scored,
            "paired": self.paired,
            "of_table_bp": self.paired_target_1e8 * 10_000 // table if table else None,
            "newest_seq": self.newest_seq,
        }


class Scores:
    """Folds `forecast_scored`: figures by instrument and step, evidence by model."""

    def __init__(self) -> None:
        """Start with nothing read."""
        self._lines: dict[tuple[str, int], ScoreLine] = {}
        self._models: dict[str, Calibration] = {}
        self._counted: set[tuple[str, str, int]] = set()
        self.size = 0

    def take(self, record: Record) -> None:
        """Read one record.

        Raises:
            ValueError: it does not read.
        """
        self.size = record.seq + 1
        if record.kind is not Kind.FORECAST_SCORED:
            return
        one = ForecastScored.of(record)
        key = (one.instrument, one.step)
        self._lines.setdefault(key, ScoreLine(*key)).take(record.seq, one)
        bar = (one.model_digest, one.instrument, one.base_us)
        if one.step == 1 and bar not in self._counted:
            self._counted.add(bar)
            ranks = self._models.setdefault(one.model_digest, Calibration())
            ranks.take(one.instrument, one.target.rank, one.target.paths)

    def of_model(self, digest: str) -> Calibration:
        """Return the evidence about one model; without a score it is that of none."""
        return self._models.get(digest, Calibration())

    def document(self) -> dict[str, Any]:
        """Return all figures for the API and the command line."""
        return {
            "lines": [self._lines[key].document() for key in sorted(self._lines)],
            "models": [
                {
                    "model_digest": digest,
                    "scored": one.scored,
                    "tenths": list(one.counts),
                    "evidence_milli": one.evidence_milli,
                    "peak_milli": one.peak_milli,
                    "shift_bp": one.shift_bp,
                }
                for digest, one in self._models.items()
            ],
        }


def scores_of(reader: LedgerReader) -> Scores:
    """Return what the scores on record say."""
    scores = Scores()
    for record in reader.records(kinds=(Kind.FORECAST_SCORED,)):
        scores.take(record)
    return scores


def finished_on_record(reader: LedgerReader) -> frozenset[str]:
    """Return the names of the forecasts that are scored at their first and last bar.

    One of a single bar is not among them: its one score does not say that it was the last.
    """
    scored = map(ForecastScored.of, reader.records(kinds=(Kind.FORECAST_SCORED,)))
    return frozenset(one.scored_id for one in scored if one.step > 1)


def wrongly_scored(reader: LedgerReader) -> tuple[int, tuple[int, ...]]:
    """Compute each score on record again; return how many there are, and those that differ."""
    outcomes, due, seen, wrong = Outcomes(reader), dict[str, ForecastScored](), 0, list[int]()
    for record in reader.records(kinds=SCORE_KINDS):
        if record.kind is Kind.FORECAST_SCORED:
            seen += 1
            again = due.pop(record.idem_key, None)
            if again is None or again.document() != record.body:
                wrong.append(record.seq)
        for one in outcomes.take(record):
            due.setdefault(one.draft().idem_key, one)
    return seen, tuple(wrong)
