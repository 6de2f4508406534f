"""Records of counterfactual swaps (test F2), and the shifts that rule R48 reads of them.

Rules:
- A pair of terms stands as its newest run says in which the terms occurred: a later run in which
  they are absent clears nothing.
- A run is about the weights that it names, whichever decision it sampled again.

Not here: how a swap is sampled (`gateway.evidence.fairness`).
"""

from collections.abc import Iterable
from typing import Any, Final

from audit.records.record import Draft
from audit.records.record_kind import Filing, RecordKind
from gateway.walk.journal.decision import digest_of
from risk.state.inputs.fairness import SwapShift

TESTED: Final = "tested"
_PER_BP: Final = 10_000
"""One basis point of a log return, in 1e-8."""


class SwapsTested(RecordKind, frozen=True, kw_only=True):
    """A run of the swaps; distances are between medians of log returns, in 1e-8.

    Attributes:
        tested_id: the decision that was sampled again.
        lexicon_digest: of the lexicon of the policy in force; empty without one.
        swaps_digest: SHA-256 of the file of swaps.
        floor_1e8: what identity or placebo moved, the larger, up to what a pair may move.
        iqr_1e8: distance of the recorded forecast's quartiles at its horizon.
        bound_1e8: epsilon: a pair that moves more is outside.
        pairs: attribute, terms and effect of each pair, or that its terms are absent.
        outside: how many pairs are outside.
    """

    filing = Filing("control", "swaps:{digest}", "person:{actor_name}", firm_wide=True)

    tested_id: str
    model_digest: str
    lexicon_digest: str
    swaps_digest: str
    paths: int
    identity: dict[str, Any]
    placebo: dict[str, Any]
    floor_1e8: int
    iqr_1e8: int
    bound_1e8: int
    pairs: tuple[dict[str, Any], ...]
    outside: int
    actor_name: str


def swaps_tested(run: SwapsTested) -> Draft:
    """A run of the swaps; it moves every account's basis, so no verdict overlooks it."""
    return run.draft(digest=digest_of(run.document()))


def tested_of(runs: Iterable[SwapsTested]) -> frozenset[str]:
    """Return the weights on which at least one pair of terms was tested."""
    return frozenset(
        run.model_digest for run in runs if any(row["result"] == TESTED for row in run.pairs)
    )


def shifts_of(runs: Iterable[SwapsTested], models: frozenset[str]) -> tuple[SwapShift, ...]:
    """Return the swaps that moved forecasts of these weights, of runs in the order of the log."""
    newest: dict[tuple[str, str], SwapShift | None] = {}
    for run in runs:
        if run.model_digest not in models:
            continue
        for row in run.pairs:
            if row["result"] == TESTED:
                key = (str(row["attribute"]), repr(row["terms"]))
                newest[key] = _shift(row, run.floor_1e8) if row["flagged"] else None
    found = (one for one in newest.values() if one is not None)
    return tuple(sorted(found, key=lambda one: (one.attribute, one.shift_bp)))


def _shift(row: dict[str, Any], floor_1e8: int) -> SwapShift:
    """Return a pair's shift beyond the floor, rounded up to basis points."""
    beyond = max(0, int(row["distance_1e8"]) - floor_1e8)
    return SwapShift(attribute=str(row["attribute"]), shift_bp=-(-beyond // _PER_BP))
