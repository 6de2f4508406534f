"""How many messages leave, and whether the same one leaves twice.

The catalogue of rules lists the files; the first line of each says what it measures.

Not here: what an order costs.
"""
