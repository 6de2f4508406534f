"""What an account may hold, owe and trade with itself.

Not here: worst-case position, gross, net and leverage (`risk.rules.limits`).

    concentration  R10: one instrument's and one sector's share of equity
    crossing       R17: no order that would meet an own one
    restricted     R18: names that nobody here may trade
    locate         R19: what would be sold short was located
    habit          R20: no order far above what is usual here
    credit         R22 and R23: credit line, and maintenance margin
    basket         R21: all orders of one decision group together
    crowd          R46: one model's share of the firm, strategies of one mind
    horizon        R52: shortfall and chance of a tripped limit on the sampled paths
"""
