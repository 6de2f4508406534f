"""Trajectories to a forecast; the only types that risk sees.

Not here: the vocabulary of news.

    trajectory  trajectories: sampled token paths as log returns, judged as wholes
    forecast    forecast: the only thing of inference that the risk gate may see, all integers
    target      a capture to the integer forecast, also for replay
    direct      the same without an engine, where the target's rows are known by state
    draws       paths as standardised draws, which may be exchanged, and back
    joint       paths of several instruments that move together, day by day
    outcome     a forecast against what came: scores, ranks, evidence that they are uneven
    placebo     the placebo twin: the same forecast from the table alone
    gjr         the GJR twin: the same forecast simulated from the recorded fit of GJR-t
    attributes  what a swap exchanges
    swaps       what a forecast does when a name in its headlines is exchanged
    verdicts    each trajectory kept or dropped, with its reason, as it is recorded
    regime      calm or turbulent, from the bars
    divergence  how far words lean against the latest moves
    modes       fast, standard, deep or secure, chosen before sampling
"""
