"""Forecasts that were replayed: each once, however many decisions name it."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.evidence.replay.forecasts.forecast import forecast_replayed
from gateway.evidence.replay.forecasts.past import ForecastPast
from inference.codec.text.codec import TextCodec
from inference.speculation.rounds import QTable

KEPT: Final = 16
"""Forecasts that are kept with their captures; one of 1,024 paths takes a few megabytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastAgain:
    """An attempt that was recomputed to its end, with a remark on each record."""

    past: ForecastPast
    remarks: tuple[tuple[Record, str], ...]


@dataclass(slots=True)
class ForecastsAgain:
    """The newest forecasts that were replayed; only what is sealed is kept."""

    _found: OrderedDict[tuple[str, str], ForecastAgain] = field(default_factory=OrderedDict)

    def of(
        self, reader: LedgerReader, table: QTable, stream: str, text: TextCodec | None
    ) -> ForecastAgain:
        """Return an attempt, recomputed.

        Raises:
            ReplayDiffersError: there is none, or a step differs; names the first.
        """
        key = (stream, table.digest)
        if key in self._found:
            self._found.move_to_end(key)
            return self._found[key]
        steps = list(forecast_replayed(reader, table, stream, text))
        past = steps[-1][0]
        again = ForecastAgain(past=past, remarks=tuple((one, said) for _, one, said in steps))
        if past.outcome:
            self._found[key] = again
        while len(self._found) > KEPT:
            self._found.popitem(last=False)
        return again
