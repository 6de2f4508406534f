"""The whole ledger: dumped, checked, backed up.

Not here: single records.

    dump     a database or a dump, streamed through the verifier
    fsck/    one check of a ledger of any size that can be resumed
    backup/  one file out, verified back in
"""
