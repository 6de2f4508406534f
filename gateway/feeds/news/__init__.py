"""Dated events, `events_2018.json`.

Not here: scoring or tagging text.

    events  the committed events of 2018 as values
"""
