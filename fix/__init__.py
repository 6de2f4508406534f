"""Orders out, reports in: FIX 4.4 with a durable record on both sides of the wire.

Not here: models, HTTP, the ledger.

    errors      errors of the order gateway
    dialects/   a broker as data: its profile, what each field may hold, the dictionary
    wire/       fields and bytes
    orders/     an order's life as tables: state, reconciliation, sweep
    durable/    what a FIX session keeps on disk: kill word, inbox, journal, resets, wire log
    session/    one FIX child process per session
    simulator/  the paper counterparty, a FIX acceptor in its own process
"""
