"""A run of all tests over a window, its check by anybody, and its text for a terminal.

The permutation tests are seeded from the log's root at the window's size, so whoever has the log
computes the same rows. What a prompt could hold of a group is tested apart from the window: the
codec's vocabulary has no word for it, and the report says so.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import Any, Final, Protocol

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Record
from audit.tlog.tiles import HashReader, root_from
from gateway.clock import days_between
from gateway.errors import RequestError
from gateway.evidence.fairness.gathering import ABSENT, WINDOW_KINDS, gathered
from gateway.walk.journal.control.fairness import FairnessTested
from gateway.walk.journal.words import TESTS
from risk.forms.documents import document_of
from risk.windows.allocation import allotted_row
from risk.windows.fairness.cases import Fairness
from risk.windows.fairness.criteria import (
    PRODUCT,
    FairnessCriteria,
    criteria_digest,
    criteria_of,
)
from risk.windows.fairness.window import WINDOW_DEALS, FairnessRow, window_rows
from risk.windows.together import together_row

SWAPPED: Final = ("region", "sector", "issuer", "client")
NO_WORD: Final = "the codec has no word for it: every prompt is the same with any other"


class LogSource(Protocol):
    """What a run reads of the ledger."""

    def records(
        self, *, kinds: Iterable[Kind] | None = None, before_seq: int | None = None
    ) -> Iterable[Record]:
        """Yield records in order of `seq`."""


RootOf = Callable[[int], bytes]
"""A function from a size to the log's root at that size."""


def root_by(hashes: Callable[[int], HashReader]) -> RootOf:
    """Return the root of any size, from the log's tiles."""
    return lambda size: root_from(hashes(size), size)


def run_tests(
    log: LogSource,
    root_of: RootOf,
    days: tuple[str, str],
    *,
    criteria: FairnessCriteria = PRODUCT,
    below: int | None = None,
    deals: int = WINDOW_DEALS,
) -> FairnessTested:
    """Return the run of all tests over the days, first and last included.

    Raises:
        RequestError: a day is not a date, or no intent was judged in the window.
    """
    first, last = (one.isoformat() for one in days_between(*days))
    records = log.records(kinds=WINDOW_KINDS, before_seq=below)
    window = gathered(records, first, last)
    if not window.cases:
        raise RequestError(problem=f"no intent was judged from {first} to {last}")
    root = root_of(window.size)
    rows = (
        *window_rows(window.cases, root, criteria.attributes, ABSENT, deals=deals),
        allotted_row(window.allotted, root, deals=deals),
        together_row(window.placed, root, deals=deals),
    )
    return FairnessTested(
        first_day=first,
        last_day=last,
        size=window.size,
        root=root.hex(),
        cases=len(window.cases),
        deals=deals,
        criteria=dict(_mapping(document_of(criteria))),
        criteria_digest=criteria_digest(criteria),
        results=tuple(_short(row) for row in (*rows, *_swaps())),
        tests=TESTS,
        actor_name="",  # whoever runs it names himself
    )


def differing(recorded: FairnessTested, log: LogSource, root_of: RootOf) -> tuple[str, ...]:
    """Return what of a recorded run does not follow from the log; nothing if all of it does.

    Raises:
        RequestError: its days hold no judged intent.
        DocumentError: its criteria are none.
    """
    criteria = criteria_of(recorded.criteria)
    again = run_tests(
        log,
        root_of,
        (recorded.first_day, recorded.last_day),
        criteria=criteria,
        below=recorded.size,
        deals=recorded.deals,
    ).document()
    said = recorded.document()
    return tuple(name for name in again if name != "actor_name" and again[name] != said.get(name))


def _swaps() -> Iterable[FairnessRow]:
    for name in SWAPPED:
        yield FairnessRow(test="F2", subject="prompts", attribute=name, because=NO_WORD)


def _short(row: FairnessRow) -> dict[str, Any]:
    """Return a row without its empty fields."""
    return {name: value for name, value in asdict(row).items() if value is not None and value != ""}


def _mapping(document: JSON) -> Mapping[str, JSON]:
    if not isinstance(document, dict):
        raise TypeError("criteria are an object")
    return document


def report_text(run: FairnessTested) -> str:
    """Return a run for a terminal: what it rests on, then a line for each test."""
    counts = {one.value: 0 for one in Fairness}
    for row in run.results:
        counts[str(row["finding"])] += 1
    lines = [
        f"{run.first_day} to {run.last_day}: {run.cases} judged intents, records below {run.size}",
        f"seed {run.root[:16]}, of the log's root at that size; {run.deals} deals",
        f"criteria {run.criteria_digest[:16]}, proposed by {run.criteria.get('proposer', '')}",
        ", ".join(f"{count} {name}" for name, count in counts.items()),
    ]
    lines += [row_text(row) for row in run.results]
    return "\n".join(lines) + "\n"


def row_text(row: Mapping[str, Any]) -> str:
    """Return one test in a line."""
    where = " ".join(str(row[key]) for key in ("subject", "attribute", "group") if row.get(key))
    parts = [f"  {row['finding']:14} {row['test']:5} {where}"]
    if row.get("observed") is not None or row.get("limit") is not None:
        parts.append(f"{row.get('observed', 0)} (limit {row.get('limit', 0)})")
    parts += [str(row[key]) for key in ("unit", "because") if row.get(key)]
    if row.get("p_value"):
        parts.append(f"p = {row['p_value']}")
    return "  ".join(parts)
