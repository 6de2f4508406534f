"""Step 10: what is read from a ledger and handed out.

Not here: appending to the walk's streams, formats.

    replay/       one decision again, from its records alone
    decisions     the list of decisions and their outcomes
    trust         keys, policies and checkpoints from outside, read for a verifier
    verification  `verify` and `dump`
    integrity     `fsck`
    backup        `backup` and `restore`
    statement     `statement`: an account's day, folded from records
    explanation   `show`: everything about a decision, as one JSON document
    bundle        `export`: one decision as a bundle that proves itself
    answers/      what persons ask of many records: the flow of orders
    fairness/     `fairness`: the tests of a window of days
    publication/  evidence for outsiders: receipts, proofs, checkpoint, tiles, mirror
"""
