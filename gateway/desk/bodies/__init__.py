"""Bodies of what callers ask and say: strict, closed, with units.

Not here: what is done with a body.

    model      the strict body, and the texts that many bodies have
    requests   an intent, its answer, stops, approvals
    order_requests   one order: its cancel, its replace, how it is shown
    basket_requests  a basket of orders
    stopping   stops, resume, flatten
    booking    adjustments, resolutions, splits
    governing  overrides, trials of a draft
    oversight  publications, annotations, reviews, cases
    fairness   criteria, justifications, swaps, runs of the tests
"""
