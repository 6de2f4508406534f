"""What agents get beside the verdict: limits of their keys, baskets, receipts, news.

Not here: the request and its answer (`gateway.desk`), transport.

    scope       an agent's intent held against the scope of its key
    places      so many handled at once, and a share for each key
    asking      an agent's request as the first record of its decision
    basket_requests  bodies about a basket of orders
    baskets     several intents judged as a whole
    order_requests  bodies about one order
    replacing   another quantity or limit for one order
    receipts    signatures over answers
    withheld    what a submitter is not told: which rule about conduct refused
    passing     what would have passed instead, and what uses up the room
    happenings  what happens to decisions and orders, as events
    allocation  the split of an aggregated order, sealed in its intent
"""
