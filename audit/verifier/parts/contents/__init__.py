"""What records say, judged by what else is known; the log's form is judged elsewhere.

    seeds   which root a forecast's seeds come from
    phone   trades by phone, against the broker's own file
    approvals  orders, and the approval and announcement that each rests on
    statements/  the table of what must be true, and its functions
    fills   the orders and fills on record, against the broker's own file
    fairness/  recorded runs of the tests of fairness, against their records
    standing  which forecast stood, by the part of an index that a bundle has
    overrides  limits that were lifted once: signatures, single use, bounds, what can be lifted
    signed  what two officers signed: adjustments, overrides, changes of officers, disavowals
    baskets  baskets of orders: their legs, and none left before the whole was approved
    policies  policies that followed another, and the trials that their signatures name

Not here: reading the broker's file (`trust.brokerfile`), the place of a record (`records`).
"""
