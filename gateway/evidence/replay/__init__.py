"""One decision again, from its records and those of its forecasts alone.

Not here: a live part, a clock.

    replay     recompute one decision, name the first step that differs
    pairs      the pair behind a decision's forecasts, by the digests on record
    whole      every decision of a ledger, one after the other
    steps      the loop over a stream's records
    compared   every comparison: record with draft, blob with digest
    past       what is known of one decision
    forecasts/ snapshot, seeds, rounds, forecast, twins, from a forecast's own stream
    taken      which forecast a decision rests on
    weights    the rows behind a forecast, from the weights
    engine     the sampling again, bit for bit
    intent     quote, sizing, intent, twins, verdict
    answers    what persons answered, and reservations that ended
    orders/    announcement, message, reports, seal; cancels and replaces
"""
