"""The table of acts: what a person, an agent or a program may ask of the desk, a row each.

Not here: what an act does (`desk.performing`), and what is no act: `POST /v1/intents` and baskets,
the kill (it works without the ledger), sign-in, events, tiles, set-up and verifying verbs.

    act        a row, and what every row must say
    verb       how it is asked on the command line
    stopping   stops apart from the kill, cancel-all, flatten, resume
    governing  overrides, the policy and its trials
    booking    adjustments, differences, splits of done orders
    oversight  publications, annotations, reviews, cases
    fairness   criteria, justifications, swaps, runs of the tests
    table      every row
"""
