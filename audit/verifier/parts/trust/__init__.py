"""Who may sign: what an outsider trusts, and what that says about a checkpoint.

    note        verifier keys, signed notes, the text of a checkpoint, signatures
    policy      the C2SP tlog-policy: logs, witnesses, quorum
    keys        trusted log keys, their rotations and revocations
    wire        FIX messages: fields, and what a report tells
    brokerfile  the broker's own file of fills
    officers    both officers' public keys
    checkpoint  the judgement of one checkpoint, with those that were kept outside

Not here: the tree that a checkpoint signs (`tree`), the records in it (`records`).
"""
