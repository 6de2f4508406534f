"""One file out, verified back in.

Not here: keys.

    form     the lines of a backup: what each may hold, written and read
    backup   the whole ledger as one file that knows whether it is whole
    judge    cosignature lines and encrypted values, held against the log
    restore  a backup brought back, verified, or not at all
"""
