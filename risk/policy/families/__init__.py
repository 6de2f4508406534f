"""Numbers of the rules that came with format 2, one file for each family of rules.

Not here: what a number does (`risk/rules/`).

    looser     which direction of a number permits more
    account    what an account may hold and owe
    liquidity  what a market can take
    messages   pace
    control    whether the books agree
    restricted names that nobody here may trade
    families   the families that a policy of format 2 has, all of them
"""
