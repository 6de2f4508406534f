"""Orders out and reports in: FIX 4.4 with a durable record on both sides of the wire.

Not here: models, HTTP, the ledger.

    errors      errors of the order gateway
    dialects/   a broker as data: its profile, what each field may hold, the dictionary
    build       what a FIX child says of itself: its build, dictionary, order profile
    wire/       fields and bytes
    orders/     an order's states, reconciliation and sweep as tables
    durable/    the files of a FIX session: kill word, inbox, journal, resets, wire log
    session/    one FIX child process for each session
    certification/  the same session tried case by case at a broker
    feed/       market data: one more child process, which sends requests only
    simulator/  the paper broker, a FIX acceptor in its own process
"""
