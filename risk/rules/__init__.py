"""One file per family of rules; a rule only measures.

Not here: reading a policy.

    rule       what a rule is, and the one comparison of a measurement with its limit
    catalogue  all rules, in the one order in which they run and print
    admission  R00 and R01: may this be judged at all, and is anything allowed to trade
    limits     R03 to R09: size, price and exposure limits
    exposure   exposure before and after an intent, worst case over everything that may still
               execute
    losses     R11 and R12: how much may be lost in a day, and from the peak
    rates      R13 and R16: message rate and duplicates
    freshness  R24 and R25: nothing is decided on old or broken inputs
    ai         R26: a directional intent needs a forecast that supports its direction
    oversight  R31: above a stated notional a person must agree
"""
