"""Commands of those who watch over the desk.

Not here: options and help.

    packs     what jurisdictions ask of a policy, and the merge to the strictest
    trials    a draft tried on recorded decisions, put on record for the officers to sign
    criteria  write and sign criteria of fairness
    overrides  exceptional overrides: draft, sign, grant
    fairness  run the tests of fairness, put a run on record, or check one
"""
