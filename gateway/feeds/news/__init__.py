"""Dated events, `events_2018.json`.

Not here: scoring or tagging text.

    events  the events of 2018, and their conversion to news items
"""
