"""One decision again, from its records alone.

Not here: a live part, a clock.

    replay    recompute one decision, name the first step that differs
    pairs     the pair behind a decision's forecasts, by the digests on record
    whole     every decision of a ledger, one after the other
    past      one decision's records, and every comparison
    planning  what a forecast asks: the checkpoint of its seeds, its mode, its paths
    forecast  request, snapshot, seeds, rounds, forecast, twins
    weights   the rows behind a forecast, from the weights
    engine    the sampling again, bit for bit
    intent    quote, sizing, intent, twins, verdict
    answers   what persons answered, and reservations that ended
    orders/   announcement, message, reports, seal; cancels and replaces
"""
