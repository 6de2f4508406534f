"""What agents get beside the verdict: limits of their keys, receipts, news of their orders.

Not here: the request and its answer (`gateway.desk`), transport.

    scope       an agent's intent held against the scope of its key
    order_requests  bodies about one order
    replacing   another quantity or limit for one order
    receipts    signatures over answers
    withheld    what a submitter is not told: which rule about conduct refused
    passing     what would have passed instead, and what uses up the room
    happenings  what happens to decisions and orders, as events
    allocation  the split of an aggregated order, sealed in its intent
"""
