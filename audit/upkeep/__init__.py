"""Work on a whole ledger: dump, check, back up and restore.

Not here: single records (`evidence`).

    dump     a database or a dump, streamed through the verifier
    fsck/    a check of a ledger of any size that can be resumed
    backup/  the ledger as one file, verified when it is restored
"""
