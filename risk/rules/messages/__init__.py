"""How many messages leave, and whether the same one leaves twice.

Not here: what an order costs.

    rates  R13 and R16: message rate and duplicates
    pace   R33 and R35: messages in a second and a day, messages for each execution
    program  R32 and R34: bursts in a day, and orders that ended at once
    repeats  R14: executed orders of one side in ten minutes
"""
