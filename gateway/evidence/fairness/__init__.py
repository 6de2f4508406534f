"""The tests of fairness over a window of days, from the ledger's records alone.

Not here: the tests themselves (`risk/windows/fairness`), recording a run (`gateway/desk`).

    gathering  records to the cases of a window
    swaps      test F2 of one decision: names of its headlines exchanged
    report     the run of all tests, its check by anybody, and its text
"""
