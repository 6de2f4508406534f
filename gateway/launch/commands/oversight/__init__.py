"""Commands of those who watch over the desk.

Not here: options and help.

    cases     cases about conduct, for reviewers
    reviews   blind reviews, through the running gateway
    overrides  exceptional overrides: draft, sign, grant, list, withdraw
    annotations  a person's words about a decision
    fairness  run the tests of fairness, put a run on record, or check one
"""
