"""The write path: lanes, batch, sequencer, recovery, the gateway's `Ledger`.

Not here: reading for people.

    ledger         the gateway's interface: append, blobs, checkpoints, subscriptions
    promise        an answer given once, to a thread or to a coroutine
    lanes          the two bounded queues in front of the sequencer
    config         how the ledger and its sequencer run
    sequencer      the one thread at a time that orders, chains and commits
    batch          requests become records on a known position
    interpreter    Python's settings for a process that appends
    loading        the state that a sequencer needs of a log, read with few rows
    recovery       taking over a log: its position, checked against the signed checkpoint
    clock_watch    how good the clock is, and when that goes on record
    checkpointing  when a checkpoint is made, and which one precedes a record
    liveness       whether the database would take an append now
"""
