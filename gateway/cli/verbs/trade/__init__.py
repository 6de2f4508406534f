"""Verbs of the desk: to a gateway that may be running.

Not here: set-up, evidence.

    kill         kill, kill-report and release
    orders       orders, cancel, replace and basket
    modes        mode show and mode sign
    stops        pause, reduce-only, cancel-all, resume and stops
    overrides    override draft, sign, grant, list and withdraw
    market       market check, example, backfill and events: market data of files
    differences  differences and resolve
    adjustments  book open and adjust
    publications publications: what the firm itself publishes
"""
