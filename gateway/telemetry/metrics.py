"""Figures for Prometheus, in its text format. The only module that imports prometheus_client.

Nothing is pushed and nothing listens: `GET /metrics` asks for the text.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from typing_extensions import override

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
GAUGE: Final = "gauge"
COUNTER: Final = "counter"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSpec:
    """One metric: gauge or counter, its labels, and what it says."""

    kind: str
    labels: tuple[str, ...]
    help: str


METRICS: Final = {
    "countersign_part_ready": MetricSpec(
        kind=GAUGE, labels=("part",), help="1 while the part is ready, as in /readyz"
    ),
    "countersign_alarm": MetricSpec(
        kind=GAUGE, labels=("alarm",), help="1 while the alarm is raised"
    ),
    "countersign_alarm_notices_waiting": MetricSpec(
        kind=GAUGE, labels=(), help="notices that the webhook has not taken yet"
    ),
    "countersign_alarm_notices_delivered_total": MetricSpec(
        kind=COUNTER, labels=(), help="notices that the webhook took"
    ),
    "countersign_alarm_notices_lost_total": MetricSpec(
        kind=COUNTER, labels=(), help="notices that were given up (record alarm_lost)"
    ),
    "countersign_kill_epoch": MetricSpec(
        kind=GAUGE, labels=(), help="number of the newest press of the kill"
    ),
    "countersign_orders_live": MetricSpec(
        kind=GAUGE, labels=(), help="orders that may be working at the broker"
    ),
    "countersign_foreign_orders_working": MetricSpec(
        kind=GAUGE, labels=(), help="orders at the broker that are not ours and may trade"
    ),
    "countersign_holds_waiting": MetricSpec(
        kind=GAUGE, labels=(), help="decisions that wait for a person"
    ),
    "countersign_intents_waiting": MetricSpec(
        kind=GAUGE, labels=(), help="intents in line, not begun yet"
    ),
    "countersign_intent_wait_seconds": MetricSpec(
        kind=GAUGE, labels=(), help="how long the oldest intent in line has waited"
    ),
    "countersign_answer_seconds": MetricSpec(
        kind=GAUGE, labels=(), help="how long an intent of now would take to its answer"
    ),
    "countersign_engine_tokens_per_second": MetricSpec(
        kind=GAUGE, labels=(), help="how fast the engine samples, while it does"
    ),
    "countersign_feed_sound": MetricSpec(
        kind=GAUGE,
        labels=("feed", "instrument", "source"),
        help="1 while nothing is wrong with a source's feed of an instrument",
    ),
    "countersign_decisions_total": MetricSpec(
        kind=COUNTER, labels=("result",), help="decisions of this process, by result"
    ),
    "countersign_orders_total": MetricSpec(
        kind=COUNTER, labels=("result",), help="orders handed to the FIX child, by result"
    ),
    "countersign_refusals_total": MetricSpec(
        kind=COUNTER,
        labels=("by", "action", "rule", "reason"),
        help="refusals and holds on record, by who refused, rule and reason",
    ),
    "countersign_way_us_total": MetricSpec(
        kind=COUNTER, labels=("leg",), help="microseconds that a part of the way took, in all"
    ),
    "countersign_way_timed_total": MetricSpec(
        kind=COUNTER, labels=("leg",), help="how often a part of the way was timed"
    ),
    "countersign_refused_attempts_total": MetricSpec(
        kind=COUNTER, labels=("reason",), help="refused callers, by reason (record access_refused)"
    ),
    "countersign_event_streams": MetricSpec(
        kind=GAUGE, labels=(), help="open streams of server-sent events"
    ),
}
"""Every metric, in the order of the table in docs/metrics.md."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One value of a metric, with its labels' values in their order."""

    name: str
    value: float
    labels: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class Exposition(Collector):
    """Writes the figures that `figures` returns."""

    figures: Callable[[], Iterable[Figure]]
    _registry: CollectorRegistry = field(default_factory=CollectorRegistry)

    def __post_init__(self) -> None:
        self._registry.register(self)

    def text(self) -> bytes:
        """Return the figures of now in Prometheus' text format.

        Raises:
            KeyError: a figure is of no metric in `METRICS`.
        """
        return generate_latest(self._registry)

    def describe(self) -> Iterable[Metric]:
        """Return no metric: the registry would otherwise ask for the figures at once."""
        return ()

    @override
    def collect(self) -> Iterator[Metric]:
        """Yield each metric with its figures."""
        found: dict[str, list[Figure]] = {name: [] for name in METRICS}
        for figure in self.figures():
            found[figure.name].append(figure)
        for name, spec in METRICS.items():
            family = CounterMetricFamily if spec.kind == COUNTER else GaugeMetricFamily
            metric = family(name.removesuffix("_total"), spec.help, labels=spec.labels)
            for figure in found[name]:
                metric.add_metric(figure.labels, figure.value)
            yield metric
