"""Patterns of own orders, before one more is sent; what a pattern means is for persons to say.

Not here: cancels, which no rule refuses, and detectors that look back over a day.

    withdrawals  R36, R37, R38: messages without executions, what was withdrawn or stands opposite
    shapes       R53: ladders, sizes that grow behind the touch, quotes that are withdrawn again
    denied       R54: shapes on the policy's deny list
    own_trades   R40 and R42: reversals on one forecast, matches of own executions
    closing      R43: own share of what trades around open and close
    mandate      R45: duties to quote
    publications R49: own words in public about the instrument
"""
