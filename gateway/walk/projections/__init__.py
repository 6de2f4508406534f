"""Pure folds over committed records.

Not here: effects, waiting, presentation.

    book         records to book events
    mandates     what each agent's key has asked for and used
    asked        requests to cancel and replace an order, and its terms with them
    outbox       the standings of all decisions, as a projection
    session_orders  those of one FIX session: what its broker says is about these
    differences  open differences between book and broker
    foreign      orders at the broker that are not ours
    modes        the ledger's mode, and what belongs to which mode
    forecasts    which forecast stands for an instrument, and what decisions read of it
    stops        stops in force apart from the kill
    gathering    what the rules of format 2 read besides book, quote and forecast
    sequence     sequence numbers of a FIX session, by the ledger
    kill_times   times of the newest kill, microseconds since its press
"""
