"""What a policy asks of the way to a mode that risks money.

Not here: what a session is, and who counts them (`gateway.walk`).

Source: Commission Delegated Regulation (EU) 2017/589, art. 8 (controlled deployment).
"""

from typing import Self

from pydantic import model_validator

from risk.numbers.stated import Count, Micros, PolicyModel


class DeploymentLimits(PolicyModel):
    """What must be on record before pilot or live; without it neither begins.

    Attributes:
        sessions_min: Reconciled sessions: a logon, then, `session_span_min` later, a book equal to
            the broker's with at least one order or position.
        session_span_min: Time from a session's logon to its reconciliation.
        trading_days_min: Distinct trading days of these sessions.
    """

    sessions_min: Count
    session_span_min: Micros
    trading_days_min: Count

    @model_validator(mode="after")
    def _some(self) -> Self:
        if min(self.sessions_min.value, self.session_span_min.value) < 1:
            raise ValueError("sessions_min and session_span_min must be positive")
        if not 1 <= self.trading_days_min.value <= self.sessions_min.value:
            raise ValueError("trading_days_min must lie between 1 and sessions_min")
        return self
