"""The state that rules read: instrument, holding, book.

Not here: limits.

    instrument  an instrument's units
    holding     one instrument's position at average cost
    book        positions, reservations and losses, folded from events
    adjustments the opening, splits, cash, trades by phone
    busts       the book's fold with busts and corrections
    activity    an account's recent past, folded from the same events
    quoting     how long an account quoted both sides, from the same events
    paths       sampled paths of the whole book, and their losses
    inputs      what the rules of format 2 read besides
    pilot       the further limits of pilot mode
    trace       the digest of a state
    state       everything that rules read besides policy and intent
"""
