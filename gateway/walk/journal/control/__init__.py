"""Records about control: stops, differences, access, and what a disavowed row holds.

Not here: what moves an order.

    difference  differences between book and broker, and their resolution
    adjustment  adjustments of a book by two officers
    kill        a kill: press, cancels, outcome, release
    modes       the mode in which a gateway serves
    stops       stops apart from the kill, and cancelling every order
    access      reads, and refused callers
    receipt     the key that signs receipts
    scope       scopes of agents' keys
    oversight/  alarms that reached nobody, cases about conduct
    fairness    a run of the tests of fairness
    groups/     splits of orders, baskets of orders
    own_keys    idempotency keys that a disavowed row holds
"""
