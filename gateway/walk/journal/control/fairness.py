"""Records of fairness: criteria that were agreed on, and each run of the tests with its result.

Not here: how a window is gathered and tested (`gateway.evidence`, `risk.windows`).
"""

from typing import Any

from audit.records.record import Draft
from audit.records.record_kind import Filing, RecordKind
from gateway.walk.journal.decision import digest_of


class FairnessTested(RecordKind, frozen=True, kw_only=True):
    """A run of the tests; the same run by the same person is one record.

    Attributes:
        size: all records that the tests read are below this size of the log.
        root: the log's root at that size; its first eight bytes seed the permutation tests.
        results: the rows of `risk.windows.fairness.window`, their empty fields left out.
        tests: which tests the run made.
    """

    filing = Filing("control", "fairness:{digest}", "person:{actor_name}")

    first_day: str
    last_day: str
    size: int
    root: str
    cases: int
    deals: int
    criteria: dict[str, Any]
    criteria_digest: str
    results: tuple[dict[str, Any], ...]
    actor_name: str
    tests: str = ""


class FairnessAgreed(RecordKind, frozen=True, kw_only=True):
    """Criteria that follow the ones before; each version is one record.

    Attributes:
        notice_days: between the record and the first day that the criteria count for, at least.
        signatures: hex by role, over the digest of the criteria and this log's id.
    """

    filing = Filing("control", "fairness_agreed:{criteria[version]}", "person:{actor_name}")

    criteria: dict[str, Any]
    criteria_digest: str
    notice_days: int
    log_id: str
    signatures: dict[str, str]
    actor_name: str


def fairness_tested(run: FairnessTested) -> Draft:
    """A run, by the digest of its contents."""
    return run.draft(digest=digest_of(run.document()))
