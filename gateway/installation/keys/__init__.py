"""Whose keys these are, where they lie, and how they change.

Not here: what is signed on a walk.

    roles      what each role may do: one table for the API, the pages and the command line
    keyring    key files of one installation
    log_keys   the log's keys in the key folder: which there are, who signs, and how one follows
               another
    row_keys   the key of the MACs beside the ledger's rows: its file, and what one ledger has of
               it
    custody    whether keys are the gateway's alone: looked at before anything is started that
               uses them
    rotation   rotate-key and revoke-key: the log's key changes hands, on record and signed by
               both
    disavowal  disavow: two officers leave one row out, which the gateway did not write and nobody
               can remove
"""
