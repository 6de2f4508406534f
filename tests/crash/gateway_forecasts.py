"""The part of the campaign's judge that looks at forecasts: what stood when a decision looked.

It folds the records by itself and shares no code with what it judges. Checks:

    F1    a decision names the forecast of its own instrument that stood in its index right then,
          by the record that states it
    F2    what was approved rests on a forecast that was not expired

Not here: seeds, twins and joint paths, which the verifier judges at the end of a ledger.
"""

from typing import Any, Final

from audit.records.kinds import Kind
from audit.records.record import Record

AGE_MAX_US: Final = 36 * 3_600_000_000
"""The shipped policy's `forecast_age_max`: 15 % of ten daily bars."""
KINDS: Final = (
    Kind.FORECAST_LISTED,
    Kind.FORECAST_MADE,
    Kind.FORECAST_TAKEN,
    Kind.VERDICT_GIVEN,
)


class ForecastJudge:
    """Reads records in order; `faults` is what is broken so far."""

    def __init__(self) -> None:
        """Read nothing yet."""
        self.faults: list[str] = []
        self.taken = 0
        """Decisions that rest on a forecast."""
        self._stands: dict[str, tuple[str, int]] = {}
        self._made: dict[int, tuple[str, str, int]] = {}  # leaf, stream, as of
        self._as_of: dict[str, int] = {}

    def read(self, record: Record) -> None:
        """Take the next record of `KINDS`."""
        body = record.body
        match record.kind:
            case Kind.FORECAST_LISTED if body["event"] in {"made", "again"}:
                self._stands[body["instrument"]] = (body["forecast_id"], body["attempt"])
            case Kind.FORECAST_MADE:
                as_of_us = int(body["forecast"]["as_of_us"])
                self._made[record.seq] = (record.leaf.hex(), record.stream, as_of_us)
            case Kind.FORECAST_TAKEN if not body.get("missing"):
                self._take(record.stream, body)
            case Kind.VERDICT_GIVEN if body["result"] == "approved":
                as_of_us = self._as_of.get(record.stream, 0)
                if record.recorded_at_us - as_of_us > AGE_MAX_US:
                    self.faults.append(f"F2: {record.stream} rests on a forecast that was expired")
            case _:
                pass

    def _take(self, stream: str, body: Any) -> None:  # noqa: ANN401 - a record's body
        self.taken += 1
        named = (body["forecast_id"], body.get("forecast_attempt", 0))
        if self._stands.get(body["instrument"]) != named:
            self.faults.append(f"F1: {stream} names another forecast than the one that stood")
        wanted = (body["of_leaf"], f"forecast/{named[0]}.{named[1]}")
        leaf, own, as_of_us = self._made.get(body["of_seq"], ("", "", 0))
        if (leaf, own) != wanted:
            self.faults.append(f"F1: {stream} names no record that states its forecast")
        self._as_of[stream] = as_of_us
