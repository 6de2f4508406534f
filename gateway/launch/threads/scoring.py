"""The chore that scores forecasts against the bars that came, and records it.

Rules:
- It reads committed records only and stops nothing; R30 reads what it finds.
- A forecast is scored once, however many decisions rest on it.
- It folds from the ledger's first record, so a start goes on where the last run stood. A step that
  is on record is not written again.

Not here: what is due and how it is scored (`gateway.evidence.answers.outcomes`).
"""

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from gateway.evidence.answers.outcomes import (
    SCORE_KINDS,
    Outcomes,
    Scores,
    finished_on_record,
)
from gateway.walk.journal.control.oversight.scores import ForecastScored
from gateway.walk.ports import LedgerPort
from risk.state.inputs.model import ForecastScores


class ForecastWatch:
    """Reads on from where it stood; one thread calls `look`, any `of_model`."""

    def __init__(self, reader: LedgerReader, ledger: LedgerPort) -> None:
        """Start with nothing read."""
        self._reader = reader
        self._ledger = ledger
        self._outcomes: Outcomes | None = None
        self._due: dict[str, ForecastScored] = {}
        self._seq = -1
        self._scores = Scores()
        self._model = ""

    def look(self) -> None:
        """Read what is new and record the scores that follow.

        Raises:
            AuditError: the ledger does not answer; the next call goes on from there.
        """
        self.read()
        for key, one in list(self._due.items()):
            self._ledger.append(one.draft())
            # a crash here leaves a score on record: the next start reads it and writes none
            del self._due[key]

    def read(self) -> None:
        """Read what is new.

        Raises:
            AuditError: the ledger does not answer; the next call goes on from there.
        """
        if self._outcomes is None:
            self._outcomes = Outcomes(self._reader, finished_on_record(self._reader))
        size = self._reader.log_size()
        for record in self._reader.records(kinds=SCORE_KINDS, after_seq=self._seq, before_seq=size):
            for one in self._outcomes.take(record):
                self._due.setdefault(one.draft().idem_key, one)
            self._due.pop(record.idem_key, None)  # an earlier run wrote it
            self._scores.take(record)
            if record.kind is Kind.FORECAST_SCORED:
                self._model = ForecastScored.of(record).model_digest
            self._seq = record.seq
        self._seq = max(self._seq, size - 1)

    @property
    def newest(self) -> ForecastScores | None:
        """What the scores say of the model that was scored last; None before the first."""
        return self.of_model(self._model) if self._model else None

    def of_model(self, digest: str) -> ForecastScores | None:
        """Return what the scores say of a model; None until the records were read once."""
        if self._seq < 0:
            return None
        ranks, seq = self._scores.of_model(digest), self._seq
        return ForecastScores(
            model_digest=digest,
            basis_seq=seq,
            scored=ranks.scored,
            evidence_milli=ranks.peak_milli,
            shift_bp=ranks.shift_bp,
        )
