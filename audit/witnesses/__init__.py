"""Cosigning from both sides, quorum and lag.

Not here: sending orders.

    quorum_watch  how far witnesses lag, and what to ask them for next
    witness       C2SP tlog-witness: what a witness answers
    memory        what a witness has cosigned, on disk
    client        one question to one witness, bounded
    cosigning     a thread for each witness
    publisher     after each checkpoint: tiles, cosignatures, lag
    quorate       checkpoints that meet a witness policy, however long ago
"""
