"""Bodies of what persons ask and say: strict, closed, with units.

Not here: what an agent asks (`requests`), and what is done with a body.

    model      the strict body, and the texts that many bodies have
    oversight  publications, annotations, reviews, cases
    fairness   criteria, justifications, swaps, runs of the tests
"""
