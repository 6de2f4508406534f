"""How many messages leave, and whether the same one leaves twice.

Not here: what an order costs.

    rates  R13 and R16: message rate and duplicates
    pace   R33 and R35: messages in a second and a day, messages for each execution
"""
