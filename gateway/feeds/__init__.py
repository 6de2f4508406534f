"""Step 1: bytes from outside to typed parts of a snapshot; quotes and market time.

Not here: a decision, tagging of news, an append.

    sessions      the playback: the sessions of 2018 of two index series, in order
    text          invisible characters in text from outside
    intake        parsers for data from outside
    market        the playback's standing quotes and market clock
    items         quotes and bars as a feed posts them, and in ticks
    conditions    what is wrong with an item: the pure judge
    series        what one source delivered of one feed of one instrument
    sources       whether two sources of one instrument contradict each other
    board         the market of `serve`: what feeds delivered, and which source leads
    kept          the table of bars, kept over a restart
    instruments/  reference data: tables of instruments
    news/         dated events, `events_2018.json`
"""
