"""Records of fairness: criteria that were agreed on, and each run of the tests with its result.

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


class FairnessAgreed(Contents, frozen=True, kw_only=True):
    """The contents of `fairness_agreed`.

    Attributes:
        notice_days: between the record and the first day that the criteria count for, at least.
        signatures: hex by role, over the digest of the criteria and this log's id.
    """

    criteria: dict[str, Any]
    criteria_digest: str
    notice_days: int
    log_id: str
    signatures: dict[str, str]
    actor_name: str


def fairness_agreed(agreed: FairnessAgreed) -> Draft:
    """Criteria that follow the ones before; each version is one record."""
    return Draft(
        stream="control",
        kind=Kind.FAIRNESS_AGREED,
        payload=agreed.document(),
        actor=f"person:{agreed.actor_name}",
        idem_key=f"fairness_agreed:{agreed.criteria['version']}",
    )


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
