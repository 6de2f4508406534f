"""Commands of those who watch over the desk.

Not here: options and help.

    cases     cases about conduct, for reviewers
    reviews   blind reviews, through the running gateway
    packs     what jurisdictions ask of a policy, and the merge to the strictest
    trials    a draft tried on recorded decisions, put on record for the officers to sign
    criteria  write, sign and agree on criteria of fairness
    justifications  the registry of justifications: list, sign and enter
    publications  own publications: list them, record one
    overrides  exceptional overrides: draft, sign, grant, list, withdraw
    annotations  a person's words about a decision
    fairness  run the tests of fairness, put a run on record, or check one
"""
