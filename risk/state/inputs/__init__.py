"""What the rules of format 2 read besides book, quote and forecast, one file for each source.

Not here: how the gateway gathers it.

    reference  the signed table of instruments
    firm       open orders of all accounts, the basket, what strategies have in common
    activity   what the account sent, quoted, published, and what was executed
    reconciliation  open differences between the account's book and the broker's
    market     last bars, and how far the session is
    model      how forecasts did
    fairness   words a decision rests on, swaps that moved it, justifications in force
    health     disk and clock of the machine
    override  two officers let one limit be exceeded once
    inputs     every source, each absent or with the time at which it was true
"""
