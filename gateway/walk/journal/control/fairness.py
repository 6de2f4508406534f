"""Records of the tests of fairness: one for each run over a window of days, with its result.

Not here: how a window is gathered and tested (`gateway.evidence`, `risk.windows`).
"""

from typing import Any, Final

from audit.records.kinds import Kind
from audit.records.record import Draft
from gateway.walk.journal.contents import Contents
from gateway.walk.journal.decision import digest_of

WITH_SPLITS: Final = "W1-W8"
TESTS: Final = "W1-W9"
"""The tests of a run; earlier ones made W1 to W8, or W1 to W7 and named none."""


class FairnessTested(Contents, frozen=True, kw_only=True):
    """The contents of `fairness_tested`.

    Attributes:
        size: all records that the tests read are below this size of the log.
        root: the log's root at that size; its first eight bytes seed the permutation tests.
        results: the rows of `risk.windows.fairness.window`, their empty fields left out.
        tests: which tests the run made; empty for W1 to W7, before there was another one.
    """

    first_day: str
    last_day: str
    size: int
    root: str
    cases: int
    deals: int
    criteria: dict[str, Any]
    criteria_digest: str
    results: tuple[dict[str, Any], ...]
    actor_name: str = ""
    tests: str = ""


def fairness_tested(run: FairnessTested) -> Draft:
    """A run of the tests; the same run by the same person is one record."""
    payload = run.document()
    return Draft(
        stream="control",
        kind=Kind.FAIRNESS_TESTED,
        payload=payload,
        actor=f"person:{run.actor_name}",
        idem_key=f"fairness:{digest_of(payload)}",
    )
