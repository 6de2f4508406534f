"""What the rules of format 2 read besides book, quote and forecast, one file for each source.

Not here: how the gateway gathers it.

    reference  the signed table of instruments
    firm       open orders of all accounts
    activity   what the account sent and what was executed
    reconciliation  open differences between the account's book and the broker's
    market     the instrument's last bars
    health     disk and clock of the machine
    inputs     every source, each absent or with the time at which it was true
"""
