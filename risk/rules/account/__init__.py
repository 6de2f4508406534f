"""What an account may hold, owe and trade with itself.

Not here: worst-case position, gross, net and leverage (`risk.rules.limits`).

    concentration  R10: one instrument's and one sector's share of equity
    crossing       R17: no order that would meet an own one
    restricted     R18: names that nobody here may trade
    habit          R20: no order far above what is usual here
    credit         R22 and R23: credit line, and maintenance margin
"""
