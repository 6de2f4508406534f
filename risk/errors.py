"""Errors of risk: raised to the caller of a parser, a fold or an approval, never by `evaluate`.

    RiskError
    ├── DocumentError      a document that is not one of ours
    ├── PolicyError        a policy or bundle that may not be activated
    ├── BookError          an event whose numbers cannot be booked
    └── ApprovalError      an order that nobody may send

A refusal of an intent is a `Verdict`, not an exception.
"""

from typing import ClassVar


class RiskError(Exception):
    """Root of the package's errors.

    Attributes:
        code: Stable name for the outside (one table in the gateway maps it to an HTTP status).
        detail: What was wrong: names and numbers, no free text from outside.
    """

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


class ApprovalError(RiskError):
    """The order was not approved, or the approval does not cover it."""

    code: ClassVar[str] = "risk_approval"
