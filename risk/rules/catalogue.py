"""All rules, in the order in which they run and print."""

from typing import Final

from risk.rules.admission import R00, R01
from risk.rules.ai import R26
from risk.rules.freshness import R24, R25
from risk.rules.limits import R03, R04, R05, R06, R07, R08, R09
from risk.rules.losses import R11, R12
from risk.rules.oversight import R31
from risk.rules.rates import R13, R16
from risk.rules.rule import Rule

RULES: Final[tuple[Rule, ...]] = (
    R00,
    R01,
    R03,
    R04,
    R05,
    R06,
    R07,
    R08,
    R09,
    R11,
    R12,
    R13,
    R16,
    R24,
    R25,
    R26,
    R31,
)
