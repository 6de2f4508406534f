"""Whether the market can take the order.

Not here: age and soundness of a quote (`risk.rules.freshness`).

    liquidity  R15: the order's share of the average daily volume
    moves      R27: the latest move, by itself and against the usual one
    stress     R28: how much of the market moves
"""
