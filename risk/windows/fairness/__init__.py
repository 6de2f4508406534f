"""Window statistics of fairness: does what the gate and the model do differ by a group?

A group is a level of an attribute of the instrument (region, sector) or of the order (side, agent);
no group here is a person. A finding is a number that anybody recomputes, never a statement about
intent. What is too small to judge is called insufficient, never passed.

Not here: gathering the cases from the ledger (`gateway/evidence`), rules on one order.

    cases       what a window is made of
    selection   W1: how often a group's intents are approved, against the most approved group
    disparity   W2: a group's share of the refused less its share of the approved, by stratum
    exposure    W3: permutation test of signed exposure against a group, by stratum
    tables      Fisher's exact test
    accuracy    W4: a group's forecast errors, against the best forecast group's
    parity      W5: how often each rule refuses or holds a group's intents
    proxies     W6: which features stand for an attribute
    holm        all tests of a window, with Holm's correction
    sequence    W7: many windows of one test, combined by e-values
    criteria    what is tested, and the terms that may not enter a prompt: versioned data
    window      all tests of a window, as rows
"""
