"""OpenTelemetry set-up; the only module that imports it. Spans are named after steps of the walk.

No exporter is configured, so nothing connects outward. Spans still give every record its trace id.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider

# Every span name, in walk order, and what it covers.
SPANS: Final = {
    "decide": "snapshot to verdict",
    "dispatch": "approval to sent",
    "settle": "one inbound message to the book",
}
# Every metric: name, unit, description.
METRICS: Final = {
    "countersign.decisions": ("1", "decisions judged, by outcome"),
    "countersign.orders": ("1", "orders handed to the FIX child, by result"),
}


class Telemetry:
    """The tracer and the counters of one process."""

    def __init__(self) -> None:
        """Create providers; the global ones stay untouched."""
        self._tracer = TracerProvider().get_tracer("countersign")
        meter = MeterProvider().get_meter("countersign")
        self._counts: Counter[tuple[str, str]] = Counter()
        self._counters: dict[str, metrics.Counter] = {
            name: meter.create_counter(name, unit=unit, description=text)
            for name, (unit, text) in METRICS.items()
        }

    @contextmanager
    def span(self, name: str) -> Iterator[str]:
        """Run a step under a span; yield the trace id as 32 hex digits.

        Raises:
            KeyError: `name` is not in `SPANS`.
        """
        _ = SPANS[name]
        with self._tracer.start_as_current_span(name) as span:
            yield trace.format_trace_id(span.get_span_context().trace_id)

    def count(self, name: str, **attributes: str) -> None:
        """Add one to a counter of `METRICS`."""
        self._counters[name].add(1, attributes)
        self._counts[name, attributes.get("result", "")] += 1

    def counted(self) -> tuple[tuple[str, str, int], ...]:
        """Return (counter, result, count) since the start."""
        return tuple((name, result, n) for (name, result), n in dict(self._counts).items())
