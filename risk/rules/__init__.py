"""One file for each rule or two, in families; a rule declares its numbers, and only measures.

Not here: reading a policy.

    rule       what a rule is, and the comparison of a measurement with its limit
    catalogue  all rules in the order in which they run, and all numbers, by family
    control    may anything be judged, must a person judge
    limits     R03 to R09: size, price and exposure limits
    exposure   worst-case exposure after an intent
    losses     R11 and R12: loss of a day, and drawdown from the peak
    account    what an account may hold, owe, risk
    market     whether the market can take the order
    messages   message rates, repeats and duplicates
    conduct    patterns of own orders
    freshness  R24 and R25: age and soundness of market data, forecast and narrative
    ai         R26: a directional intent needs a forecast that supports it
"""
