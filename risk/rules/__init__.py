"""One file for each family of rules; a rule only measures.

Not here: reading a policy.

    rule       what a rule is, and the comparison of a measurement with its limit
    catalogue  all rules in the order in which they run, and which of them a policy names
    control    R00 to R02, R30, R31, R50, R51: may anything be judged, must a person judge
    limits     R03 to R09: size, price and exposure limits
    exposure   worst-case exposure after an intent
    losses     R11 and R12: loss of a day, and drawdown from the peak
    account    R10, R17 to R23, R46, R52: what an account may hold, owe, risk
    market     R15, R27, R28: whether the market can take the order
    messages   R13, R14, R16, R32 to R35: message rates, repeats and duplicates
    conduct    R36 to R38, R40, R42, R43, R45, R49, R53, R54: patterns of own orders
    freshness  R24 and R25: age and soundness of market data, forecast and narrative
    ai         R26: a directional intent needs a forecast that supports it
"""
