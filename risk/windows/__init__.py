"""What many records show together: statistics of a window, never a verdict on one order.

Not here: rules on one order (`risk/rules`), gathering from the ledger (`gateway/evidence`).

    edit        the largest order that verdicts on one intent would let pass
    review      the sample of a blind review, and how far two judges agree
    breaker     which forecasts and decisions are no longer usual
    allocation  the split of an aggregated order, and what clients got over a window
    together    whether orders of two agents came together more often than by chance
    conduct/    do events of own orders match an indicator of market abuse?
    fairness/   does what the gate and the model do differ by a group?
"""
