"""Step 1: bytes from outside to typed parts of a snapshot; quotes and market time.

Not here: a decision, tagging of news, an append.

    scales        the fitted scale of each instrument, for model pairs of codec 2
    sessions      the playback: the sessions of 2018 of two index series, in order
    text          invisible characters in text from outside
    intake        parsers for data from outside
    market        the playback's standing quotes and market clock
    live/         the market of `serve`: what feeds deliver
    files/        files and folders that are followed as they grow
    broker/       the broker's own market data, over FIX
    instruments/  reference data: tables of instruments
    news/         dated events, `events_2018.json`
"""
