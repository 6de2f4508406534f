"""Verbs of the desk: to a gateway that may be running.

Not here: set-up, evidence, acts (`gateway.acts`).

    kill         kill, kill-report and release
    orders       orders, cancel, replace and basket
    modes        mode show and mode sign
    stops        pause, reduce-only, secure, flatten and resume
    overrides    override draft, sign and grant
    market       market check, example, backfill and events: market data of files
    differences  differences and resolve
    adjustments  book open
"""
