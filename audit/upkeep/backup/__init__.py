"""The whole ledger as one file, verified when it is restored.

Not here: keys, which a backup never has.

    form     the lines of a backup, written and read
    backup   the writing of a backup
    judge    cosignatures, encrypted values and later checkpoints, compared with the log
    restore  the restore of a backup: verified and complete, or nothing
"""
