"""Whether anything may be judged at all, and whether a person must judge it.

Not here: limits.

    admission  R00 and R01: valid inputs, and the kill latch
    authority  R02: the strategy is permitted, on this side
    fairness     R48: protected words, moved swaps, justifications
    health     R50: room on the disk, a clock that does not step
    drift      R30: whether the model's forecasts are still calibrated
    stops      R01: stops apart from the kill
    oversight  R31: a large order needs a person's approval
    overriding  an exceptional override lifts one limit, once
    reconciliation  R51: no new order while the account's book differs from the broker's
"""
