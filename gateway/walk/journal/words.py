"""Closed lists of words that records of control hold, and requests may ask for.

They stand apart from their records, because a verb reads them and must stay light.
"""

from enum import StrEnum
from typing import Final

TESTS: Final = "W1-W9"
"""The tests of a run of fairness; earlier ones made W1 to W8, or W1 to W7 and named none."""


class AnnotationSort(StrEnum):
    """A remark adds something; a dissent says that the person would have decided otherwise."""

    REMARK = "remark"
    DISSENT = "dissent"


class CaseState(StrEnum):
    """What has become of a case."""

    OPEN = "open"
    REVIEW = "in review"
    REPORTED = "reported"
    CLOSED = "closed"


class Medium(StrEnum):
    """Where an act appeared; a closed list."""

    RESEARCH = "research"
    ARTICLE = "article"
    INTERVIEW = "interview"
    SOCIAL = "social"
    BROADCAST = "broadcast"
    OTHER = "other"


class Mechanism(StrEnum):
    """The economic reason of a justification; a closed list."""

    SANCTIONS = "sanctions"
    SOVEREIGN_RISK = "sovereign_risk"
    CURRENCY = "currency"
    SESSION_HOURS = "session_hours"
    LAW = "law"


EVERY: Final = "*"
"""The instrument of what may be about any: a difference, a publication."""
