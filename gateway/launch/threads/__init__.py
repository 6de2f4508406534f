"""The background threads of a running gateway.

Not here: their start and stop in a fixed order (`launch.app`).

    settler       the thread that settles broker messages from the inbox, in order
    publisher     publication of checkpoints to witnesses
    housekeeping  periodic chores
    conduct       patterns of conduct on the ledger, as cases
    breaker       the chore that opens the AI circuit breaker
    sampler       holds direct forecasts against the engine
    keeper        makes the forecasts of new inputs before anybody asks
    beside        pure work of a decision while the engine samples
    scoring       the chore that scores forecasts against the bars that came
    pulse         readiness of the database
    files         follows the files that feeds write
    alarms        what is watched, and where notices go
    vitals        looks at disk and clock, for verdicts
    sessions      what makes a session a reconciled one; a chore of `housekeeping`
"""
