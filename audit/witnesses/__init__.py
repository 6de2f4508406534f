"""Witnesses of checkpoints, from both sides: what a witness does, and what the log asks of it.

Not here: the HTTP server of a witness; witness policies (`tlog`).

    quorum_watch  how far witnesses lag, and what to ask them for next
    witness       C2SP tlog-witness: what a witness answers
    memory        what a witness has cosigned, on disk
    client        one request to one witness, bounded in time and size
    cosigning     a thread for each witness
    publisher     after each checkpoint: tiles, cosignatures, lag
    quorate       the stored checkpoints that meet a witness policy
"""
