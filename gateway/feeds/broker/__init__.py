"""The broker's own market data, over FIX.

Not here: the session and the books (`fix.feed`), what is wrong with a quote (`live`).

    line  the supervisor of the market data child, and its events as quotes
"""
