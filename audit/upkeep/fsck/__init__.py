"""A check of a ledger of any size that can be resumed.

Not here: a second verdict; the outsider's verifier judges.

    chunk     the result of one chunk of records, and its subtree
    columns   the queries for columns, joined, and how their answers are read
    counts    rows counted in the table and through every index
    headers   headers rebuilt from columns, 150,000 a second and more
    tiles     stored tiles compared with the tree, in a chunk and above all chunks
    state     the progress of a check, on disk
    judge     chunks put together by the outsider's verifier
    database  the psycopg door of fsck: one snapshot, read in ranges
    readers   the reader processes
    plan      what to check, and from where
    run       fsck of a database
    dump      fsck of a dump
"""
