"""The market of `serve`: what feeds deliver, judged, held, and kept over a restart.

Not here: records (`gateway.desk.intake.feeding`), the playback's market, events (`news/`).

    items       quotes and bars as a feed posts them, and in ticks
    conditions  what is wrong with an item: the pure judge
    series      what one source delivered of one feed of one instrument
    sources     whether two sources of one instrument contradict each other
    splits      bars from before a split in today's units
    filling     whether bars of a file may fill what is missing
    calendars   trading hours, from `exchange_calendars`
    delivered   who delivers, and which source leads
    board       the market: what a decision may see
    kept        the tables of bars and events, kept over a restart
    overview    the state of each feed, for people and monitoring
"""
