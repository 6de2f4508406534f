"""Errors of risk's parsers, folds and approvals.

    RiskError
    ├── DocumentError      a document does not parse
    ├── PolicyError        a policy or bundle may not be activated
    ├── BookError          an event's numbers cannot be booked
    ├── AllocationError    shares that split no order
    ├── PathsError         sampled paths are missing or do not fit together
    └── ApprovalError      an order may not be sent

`evaluate` raises none: a refusal of an intent is a `Verdict`.
"""

from typing import ClassVar


class RiskError(Exception):
    """Root of the package's errors; `code` is stable, `detail` has no free text from outside."""

    code: ClassVar[str] = "risk"

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class DocumentError(RiskError):
    """A document has a missing, unknown or mistyped field, or a value outside the profile."""

    code: ClassVar[str] = "risk_document"


class PolicyError(RiskError):
    """Policy bytes do not parse, contradict themselves, or do not follow the active policy."""

    code: ClassVar[str] = "risk_policy"


class BookError(RiskError):
    """An event's quantities, prices or units cannot be booked."""

    code: ClassVar[str] = "risk_book"


class AllocationError(RiskError):
    """Shares of an order do not sum to one, or one is not positive."""

    code: ClassVar[str] = "risk_allocation"


class PathsError(RiskError):
    """Sampled paths are missing, or do not fit together."""

    code: ClassVar[str] = "risk_paths"


class ApprovalError(RiskError):
    """The order was not approved, or the approval does not cover it."""

    code: ClassVar[str] = "risk_approval"
