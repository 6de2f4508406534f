"""Commands of those who watch over the desk.

Not here: options and help.

    cases     cases about conduct, for reviewers
    reviews   blind reviews, through the running gateway
    justifications  the registry of justifications: list, sign and enter
    publications  own publications: list them, record one
    fairness  run the tests of fairness, put a run on record, or check one
"""
