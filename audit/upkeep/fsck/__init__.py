"""One check of a ledger of any size that can be resumed.

Not here: a second verdict: it calls the verifier.

    chunk     what a chunk of records says about itself, and its subtree
    columns   what fsck asks the server for: columns joined, and how they are read
    counts    rows counted in the table and through every index
    headers   headers rebuilt from columns, 150,000 a second and more
    tiles     stored tiles against the tree, in a chunk and above all chunks
    state     where a check stands, on disk
    judge     chunks put together by the outsider's verifier
    database  the psycopg door of fsck: one snapshot, read in ranges
    readers   the reader processes, asked in turn
    plan      what to check, and from where
    run       fsck of a database
    dump      fsck of a dump
"""
