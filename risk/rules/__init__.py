"""One file for each family of rules; a rule only measures.

Not here: reading a policy.

    rule       what a rule is, and the comparison of a measurement with its limit
    catalogue  all rules in the order in which they run, and which of them a policy names
    control    R00, R01, R31, R51: valid inputs, kill and stops, a person's approval, equal books
    limits     R03 to R09: size, price and exposure limits
    exposure   worst-case exposure after an intent
    losses     R11 and R12: loss of a day, and drawdown from the peak
    account    R10, R17, R18, R20, R22, R23: what an account may hold, owe, and trade with itself
    market     R15: whether the market can take the order
    messages   R13, R16, R33, R35: message rates and duplicates
    freshness  R24 and R25: age and soundness of market data, forecast and narrative
    ai         R26: a directional intent needs a forecast that supports it
"""
