"""One file for each family of rules; a rule only measures.

Not here: reading a policy.

    rule       what a rule is, and the comparison of a measurement with its limit
    catalogue  all rules in the order in which they run
    admission  R00 and R01: valid inputs, and the kill latch
    stops      R01: stops apart from the kill
    limits     R03 to R09: size, price and exposure limits
    exposure   worst-case exposure after an intent
    losses     R11 and R12: loss of a day, and drawdown from the peak
    rates      R13 and R16: message rate and duplicates
    freshness  R24 and R25: age and soundness of market data, forecast and narrative
    ai         R26: a directional intent needs a forecast that supports it
    oversight  R31: a large order needs a person's approval
"""
