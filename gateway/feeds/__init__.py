"""Step 1: bytes from outside to typed parts of a snapshot; quotes and market time.

Not here: a decision, tagging of news, an append.

    sessions  the sessions of 2018 of two real index series, one decision per instrument and
              session, in order
    intake    the only door for data from outside
    market    the standing quotes and the one market clock
    news/     dated events, `events_2018.json`
"""
