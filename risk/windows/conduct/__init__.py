"""Patterns of conduct in the orders of one firm, looked for after the trade: a detector for each.

A pattern is a fold over order events: `take` reads an event and says whether the pattern is
complete, for a case. An alarm is "the events match indicator X", never a statement of intent. It
stops nothing: before the trade the rules of conduct refuse (`risk/rules/conduct`).

Not here: cases and who may see them, rules on one order (`risk/rules`), made-up worlds (`scripts`).

    events         what a pattern reads: an order placed, cancelled or traded; an alarm
    rolling        sums over the last seconds, in whole numbers
    spoofing       short-lived size on one side, trades on the other
    layering       several own price levels that go after a trade on the other side
    wash           trades of one owner against each other
    stuffing       many messages and no trade
    ignition       trades that move the price, then trades back
    front_running  trades ahead of another agent's waiting order, then trades back
    stop_run       trades through the last minutes' extreme, then trades back at a gain
    coordination   two agents whose orders keep coming together
"""
