"""Dated events that playback may show the target, read through `gateway.intake`.

Reading order: events_2018.json (facts in our own words, each with its official source), events.
"""
