"""The write path: lanes, batch, sequencer, recovery, the ledger that the gateway holds.

Not here: reading for people.

    ledger         what the gateway holds: append, blobs, checkpoints, subscriptions
    promise        an answer given once, to a thread or to a coroutine
    lanes          the two bounded queues in front of the sequencer
    sequencer      the one thread that orders, chains and commits
    batch          requests become records on a known position
    interpreter    what a process that appends asks of Python
    loading        what a sequencer must know of a log, read with few rows
    recovery       taking over a log: its position, held against what is signed
    clock_watch    how good the clock is, and when that goes on record
    checkpointing  when a checkpoint is made, and which one a record comes after
    liveness       whether the database would take an append, asked anew
"""
