"""One decision again, from its records alone.

Not here: a live part, a clock.

    replay    replay: recompute one decision from the ledger alone, and name the first step that
              differs
    past      what a replay knows of one decision
    seeds     replay of where a seed's root comes from: which checkpoint it must be, and no other
    forecast  replay of what a decision foresaw: request, snapshot, seeds, rounds, forecast,
              placebo
    weights   replay's second statement
    engine    replay's third statement, when asked for
    intent    replay of what a decision wanted and was told
    order     replay of what became of an order: announcement, message, reports, the last word
"""
