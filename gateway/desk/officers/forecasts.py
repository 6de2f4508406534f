"""The newest forecast of each instrument, from its records: of which inputs, how old, what it says.

Not here: making one (`gateway.walk.forecast`), a decision's own (`gateway.desk.desk`).
"""

from typing import Any, Final

from audit.records.kinds import Kind
from audit.records.record import Record
from audit.store.reader import LedgerReader
from gateway.desk.parts import DeskParts
from gateway.walk.journal.forecast import (
    ForecastFailed,
    ForecastMade,
    ForecastSealed,
    SnapshotTaken,
)

BEING_MADE = "being_made"
_SHOWN: Final = ("source", "horizon", "n_paths", "expected_1e8", "horizon_vol_1e8", "p_up_bp")
_NUMBERS: Final = ("attempt", "opened_seq", "seq", "as_of_us", "age_s", "bars", "items", "took_ms")
_NOTHING: Final[dict[str, Any]] = {
    "outcome": "none",
    "forecast_id": "",
    "reason": "",
    **dict.fromkeys((*_NUMBERS, *_SHOWN)),
}
"""A line of an instrument that nothing was forecast of."""


def forecasts_document(own: DeskParts) -> dict[str, Any]:
    """Return a line for each instrument, by symbol; ages in seconds of market time."""
    newest, now_us = own.section.forecasts.newest(), own.market.now_us()
    lines = (_line(own.reader, symbol, newest.get(symbol), now_us) for symbol in own.instruments)
    return {"forecasts": sorted(lines, key=lambda line: str(line["instrument"]))}


def _line(reader: LedgerReader, symbol: str, stream: str | None, now_us: int) -> dict[str, Any]:
    found: dict[Kind, Record] = {}
    if stream is not None:
        found = {record.kind: record for record in reader.records(stream=stream)}
    if Kind.SNAPSHOT_TAKEN not in found:
        return {**_NOTHING, "instrument": symbol}
    opened, sealed = found[Kind.SNAPSHOT_TAKEN], found.get(Kind.FORECAST_SEALED)
    inputs, made = SnapshotTaken.of(opened), found.get(Kind.FORECAST_MADE)
    line: dict[str, Any] = {
        **_NOTHING,
        "instrument": symbol,
        "forecast_id": inputs.forecast_id,
        "attempt": inputs.attempt,
        "outcome": BEING_MADE if sealed is None else ForecastSealed.of(sealed).outcome,
        "opened_seq": opened.seq,
        "as_of_us": inputs.as_of_us,
        "age_s": max(0, now_us - inputs.as_of_us) // 1_000_000,
        "bars": inputs.n_bars,
        "items": inputs.n_news,
    }
    if sealed is not None:
        line["took_ms"] = (sealed.recorded_at_us - opened.recorded_at_us) // 1_000
    if made is not None:
        said = ForecastMade.of(made).forecast
        line |= {"seq": made.seq, **{name: said[name] for name in _SHOWN}}
    elif Kind.FORECAST_FAILED in found:
        line["reason"] = ForecastFailed.of(found[Kind.FORECAST_FAILED]).reason
    return line
