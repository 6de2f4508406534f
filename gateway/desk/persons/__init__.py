"""What operators, approvers and officers may ask of the desk.

Not here: what an agent asks.

    kill        the kill switch: close the gate, confirm, record, sweep
    drill       a drill of the kill
    release     a kill's release, signed by two roles
    stops       pause, reduce-only, and their end
    cancel_all  cancelling every live order
    flatten     orders that bring positions to zero
    modes       which mode may begin, and what it needs
    statements  the statements that the signing roles sign, and their check
    adjustment  openings, splits, cash and trades by phone, signed by two roles
    holds       holds of an earlier run, taken over at a start
    resolution  a person's resolution of a difference between the book and the broker
"""
