"""Names, options and help of the verbs; a body of at most ten lines.

Not here: printing more than the result.

    train        distill: a drafter from the forecasts on record
    evaluate     evaluate: forecasts on any folder against six baselines
    setup/       verbs that set an installation up and start it
    trade/       verbs of the desk
    evidence/    verbs about the ledger
"""
