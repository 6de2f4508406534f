"""What operators, approvers and officers may ask of the desk.

Not here: what an agent asks.

    kill        the kill switch: close the gate, confirm, record, sweep
    drill       a drill of the kill
    release     a kill's release, signed by two roles
    stops       pause, reduce-only, and their end
    cancel_all  cancelling every live order
    flatten     orders that bring positions to zero
    governing/  the next policy and the next mode
    statements  the statements that the signing roles sign, and their check
    adjustment  openings, splits, cash and trades by phone, signed by two roles
    checkpoint/ orders that wait for a person, what he is shown, his answer
    resolution  a person's resolution of a difference between the book and the broker
    oversight/  runs of the tests of fairness, and cases about conduct
"""
