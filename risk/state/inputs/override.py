"""An exceptional override: two officers let one limit be exceeded once, by one intent.

Not here: which limits may be lifted, and when it acts (`risk.rules.control.overriding`).

Source: Delegated Regulation (EU) 2017/589 (RTS 6) art. 15(5), (6).
"""

from dataclasses import dataclass

from risk.intent import Side
from risk.verdict import RuleId


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """What the officers signed; it acts on nothing else.

    Attributes:
        override_id: 128 random bits, hex; no other override has it.
        rule_id, check: the one limit, as a verdict names it.
        qty_max_lots: the largest order that it is for.
        notional_max_minor: the largest worth of that order at its limit price, minor units.
        policy_digest: the policy that it is for; void under any other.
        not_before_us, expires_us: wall clock; it acts from the first and no more at the second.
    """

    override_id: str
    account: str
    instrument: str
    side: Side
    rule_id: RuleId
    check: str
    qty_max_lots: int
    notional_max_minor: int
    policy_digest: str
    not_before_us: int
    expires_us: int
