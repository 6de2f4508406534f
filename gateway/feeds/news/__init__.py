"""Dated events, `events_2018.json`.

Not here: scoring or tagging text.

    events  the events of 2018, and their conversion to news items
    posted  events as a feed posts them
    fed     the narrative of `serve`, and up to when it is complete
"""
