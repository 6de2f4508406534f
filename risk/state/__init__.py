"""What rules may look at: instrument, holding, book, and the state as documents.

Not here: limits.

    instrument      the instrument an order is for: its units, nothing about its market
    holding         one instrument at average cost
    book            positions, reservations, losses, folded from events
    busts           a book folded on past trades that the broker takes back or corrects
    state           what the rules may look at
"""
