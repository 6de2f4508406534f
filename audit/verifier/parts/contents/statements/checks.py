"""The checks of each rule that a policy names; a verdict has one result of each.

Written by `make verifier` from the rules; do not edit.
"""

_CHECKS = """
R00 policy_readable intent_readable state_readable policy subject clock_behind
R01 latch epoch
R02 strategy side
R03 maximum minimum step
R04 notional
R05 collar
R06 position short
R07 gross
R08 net
R09 leverage
R10 instrument sector
R11 day_loss
R12 drawdown
R13 reserve bucket
R14 orders
R15 order_share day_share reference_age
R16 intent order
R17 own_orders
R18 listed
R19 short age
R20 quantity value
R21 basket
R22 line
R23 margin
R24 quote_age quote_ahead spread gap phase
R25 forecast_age forecast_ahead narrative_age narrative_ahead
R26 direction paths interval
R27 move usual bars_age bars_ahead
R28 stressed fall
R30 evidence shift
R31 notional
R32 bursts
R33 second day
R34 orders share
R35 window day
R36 second
R37 withdrawn
R38 levels
R40 move
R42 matches
R43 share
R45 presence sizes spread
R46 model_share agreement
R49 acts
R50 look_age disk_free clock_step
R51 differences
R52 shortfall trip_chance paths paths_age
R53 ladder growing quoted
"""
CHECKS = {
    rule: frozenset(checks)
    for rule, *checks in (line.split() for line in _CHECKS.strip().splitlines())
}
