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
    proof         `receipt` and `prove`: evidence in one small file
    receipts      `verify-receipt`: an answer against its signature and the ledger
    publication/  the log for outsiders: checkpoint, tiles, mirror, witness policy
"""
