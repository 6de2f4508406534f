"""Numbers of the rules that came with format 2, one file for each family of rules.

Not here: what a number does (`risk/rules/`).

    looser     which direction of a number permits more
    liquidity  what a market can take
    families   the families that a policy of format 2 has, all of them
"""
