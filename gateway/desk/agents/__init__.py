"""What agents ask of the desk beside an intent.

Not here: an intent and its answer (`gateway.desk.desk`), what its key may do (`desk.intake`).

    baskets     several intents judged as a whole
    allocation  the split of an aggregated order, sealed in its intent
    happenings  what happens to decisions and orders, as events
"""
