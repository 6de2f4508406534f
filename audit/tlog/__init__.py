"""The transparency-log formats, one C2SP specification per module. Pure.

Not here: records, PostgreSQL, threads.

    merkle       the global tree of RFC 6962, its frontier and its proofs
    note         C2SP signed notes and verifier keys
    treehead     C2SP tlog-checkpoint: the text of a checkpoint
    checkpoint   a signed size and root, with a line of an unknown key (grease)
    cosignature  C2SP tlog-cosignature: timestamped signatures of witnesses
    rotation     a log's keys over time: which key counts for which checkpoint
    tiles        C2SP tlog-tiles: the tree as files, and proofs read from them
    policy       C2SP tlog-policy: which logs and witnesses make a checkpoint valid
    proof        C2SP tlog-proof: an entry's proof in one file
"""
