"""The kinds that a replay tells of, in its order: a forecast's before the record that names it."""

from audit.records.kinds import Kind
from gateway.walk.journal.decision import ForecastTaken
from gateway.walk.ports import RecordsPort


def told_kinds(reader: RecordsPort, decision_id: str) -> list[str]:
    """Return a decision's kinds; a renewal by the same forecast does not tell of it again."""
    found: list[str] = []
    seen: set[str] = set()
    for record in reader.records(stream=f"decision/{decision_id}"):
        if record.kind is Kind.FORECAST_TAKEN:
            stream = ForecastTaken.of(record).named.stream
            if stream and stream not in seen:
                found += [one.kind.value for one in reader.records(stream=stream)]
                seen.add(stream)
        found.append(record.kind.value)
    return found
