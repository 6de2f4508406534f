"""Numbers of the rules that came with format 2, one file for each family of rules.

Not here: what a number does (`risk/rules/`).

    looser     which direction of a number permits more
    account    what an account may hold and owe
    liquidity  what a market can take
    messages   pace
    conduct    patterns of own orders
    control    whether books, machine and forecasts are in order
    authority  strategies that may trade, and duties to quote
    horizon    what the sampled paths of the book may lose
    modes      how much is spent on a forecast
    listed/    the deny list and the words of fairness
    restricted names that nobody here may trade
    families   the families that a policy of format 2 has, all of them
"""
