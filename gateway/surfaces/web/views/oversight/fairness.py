"""The runs of the tests of fairness as page values; a bar for each group of W1 and W4.

Not here: running a test; the page shows what is on record.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup

from audit.store.reader import LedgerReader
from gateway.desk.officers.oversight.fairness import recorded_runs
from gateway.surfaces.web.views.plots import Caption, PlotBar, bar_chart
from gateway.walk.journal.control.fairness import FairnessTested
from risk.windows.fairness.cases import Fairness

DRAWN: Final = {
    "W1": "Approval rate of each group, against the most approved group",
    "W4": "Forecast error or coverage of each group, against the best group",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FairnessView:
    """The runs on record, and one of them with its plots; `shown` is None before the first."""

    runs: tuple[tuple[int, FairnessTested, int], ...]
    seq: int
    shown: FairnessTested | None
    counts: tuple[tuple[str, int], ...]
    plots: tuple[Markup, ...]


def fairness_view(reader: LedgerReader, seq: int | None) -> FairnessView:
    """Return the runs, newest first, and the chosen one, by default the newest."""
    found = recorded_runs(reader)
    chosen = next(((n, run) for n, run in found if seq in {None, n}), None)
    shown = None if chosen is None else chosen[1]
    return FairnessView(
        runs=tuple((n, run, _count(run, Fairness.FLAGGED)) for n, run in found),
        seq=0 if chosen is None else chosen[0],
        shown=shown,
        counts=() if shown is None else tuple((f.value, _count(shown, f)) for f in Fairness),
        plots=() if shown is None else tuple(_plots(shown)),
    )


def _count(run: FairnessTested, finding: Fairness) -> int:
    return sum(row["finding"] == finding.value for row in run.results)


def _plots(run: FairnessTested) -> Sequence[Markup]:
    drawn = []
    for attribute in run.criteria.get("attributes", ()):
        for test, title in DRAWN.items():
            rows = [
                row
                for row in run.results
                if (row["test"], row["attribute"]) == (test, attribute)
                and row.get("observed") is not None
            ]
            if rows:
                drawn.append(_plot(f"{test}-{attribute}", f"{test}, {attribute}: {title}", rows))
    return drawn


def _plot(key: str, title: str, rows: Sequence[Mapping[str, Any]]) -> Markup:
    said = "; ".join(f"{row['group']} {_percent(row['observed'])}" for row in rows)
    limit = int(rows[0]["limit"])
    caption = Caption(key=key, title=title, desc=f"{said}; the limit is {_percent(limit)}")
    bars = [
        PlotBar(
            name=f"{row['group']}, {row['cases']} cases",
            value=int(row["observed"]),
            said=_percent(row["observed"]),
            flagged=row["finding"] == Fairness.FLAGGED.value,
        )
        for row in rows
    ]
    return bar_chart(bars, caption, limit)


def _percent(bp: int) -> str:
    return f"{bp / 100:.1f} %"
