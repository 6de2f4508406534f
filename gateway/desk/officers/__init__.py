"""What operators, approvers and officers may ask of the desk.

Not here: what an agent asks, the kill (`gateway.desk.controls`).

    release     a kill's release, signed by two roles
    stops       pause, reduce-only, and their end
    flatten     orders that bring positions to zero
    forecasts   the newest forecast of each instrument
    governing/  the next policy and the next mode
    adjustment  openings, splits, cash and trades by phone, signed by two roles
    resolution  a person's resolution of a difference between the book and the broker
    oversight/  runs of the tests of fairness, and cases about conduct
"""
