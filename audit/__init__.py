"""The ledger: what happened, in an order nobody can change unseen.

Reading order, which is the way a record goes:

    kind_names   the names of kinds and streams
    kind_spec    what one row of the list says
    kinds        the closed list of record kinds, in walk order
    canonical    JSON to the one byte string that is hashed (RFC 8785, our profile)
    personal     personal values: salted commitments in the leaf, disclosures apart
    record       a draft becomes a header, a leaf and a record
    sound        whether a record's columns are what its leaf says
    chain        streams: dense numbers, previous leaves, stream-head maps
    merkle       the global tree of RFC 6962, its frontier and its proofs
    note         C2SP signed notes and verifier keys
    treehead     C2SP tlog-checkpoint: the text of a checkpoint
    cosignature  C2SP tlog-cosignature: timestamped signatures of witnesses
    checkpoint   a signed size and root, with a line for nobody (grease)
    rotation     a log's keys over time: who counts for which checkpoint
    tiles        C2SP tlog-tiles: the tree as files, and proofs read from them
    quorum       C2SP tlog-policy: which logs and witnesses make a checkpoint valid
    proof        C2SP tlog-proof: an entry's proof in one file
    quorum_watch how far witnesses lag, and what to ask them for next
    witness      C2SP tlog-witness: what a witness answers
    keys         who signs: the Signer protocol and a key in a file
    pkcs11       a key in a device
    tables       the schema's version and how a database gets it
    defences     what the migrations make: constraints, indexes, triggers
    logins       who logs in: a user with nothing that `SET ROLE NONE` could give back
    promise      an answer given once, to a thread or to a coroutine
    lanes        the two bounded queues in front of the sequencer
    row_key      which rows this gateway wrote: a MAC over each leaf
    batch        requests become records on a known position
    watchdog     deadlines for database calls
    interpreter  what a process that appends asks of Python
    wire         rows as PostgreSQL's binary forms: arrays and COPY
    pipe         one commit on the wire, sent without waiting
    store        the psycopg door for writing: one fenced connection
    loading      what a sequencer must know of a log, read with few rows
    recovery     taking over a log: its position, held against what is signed
    blobs        bytes too long for a record, stored before it
    timekeeping  how good the clock is, and when that goes on record
    sequencer    the one thread that orders, chains and commits
    retention    how long personal values must be kept
    names        names of persons as text, and words that mention one
    durable      a folder's names, durable
    vault        subject keys, outside PostgreSQL
    checkpointing  making checkpoints, one at a time, and which one a record comes after
    ledger       what the gateway holds: append, blobs, checkpoints, subscriptions
    liveness     whether the database would take an append, asked anew
    tile_store   tiles over the database: full ones stored, partial ones when asked for
    witness_memory  what a witness has cosigned, on disk
    witness_client  one question to one witness, bounded
    cosigning    a thread for each witness
    publisher    after each checkpoint: tiles, cosignatures, lag
    row_judge    rows held against a row key as they are read
    queries      the read side: records, blobs, heads and proofs
    quorate      checkpoints that meet a witness policy, however long ago
    said         names in words, which stay in the log
    disclosures  encrypted personal values in the database: read, and deleted
    holds        legal holds: what they cover, who lifts them
    erasable     whether statutes and holds let go of a person's values
    erased       what an erasure and a disclosure answer
    erasure      a person's values, forgotten; every proof stays
    verify       the one-file verifier for outsiders (standard library + cryptography)
    fsck_catalog whether the tables still are the migration's
    fsck         a database or a dump, streamed through the verifier
    fsck_chunk   what a chunk of records says about itself, and its subtree
    fsck_columns what fsck asks the server for: columns joined, and how they are read
    fsck_counts  rows counted in the table and through every index
    fsck_fast    headers rebuilt from columns, 150,000 a second and more
    fsck_payloads stored headers and payloads against them: the second pass
    fsck_tiles   stored tiles against the tree, in a chunk and above all chunks
    fsck_state   where a check stands, on disk
    fsck_judge   chunks put together by the outsider's verifier
    fsck_database  the psycopg door of fsck: one snapshot, read in ranges
    fsck_worker  a reader process of fsck, a fork
    fsck_readers  the reader processes, asked in turn
    fsck_plan    what to check, and from where
    fsck_run     fsck of a database
    fsck_dump    fsck of a dump
    backup_form  the lines of a backup: what each may hold, written and read
    backup       the whole ledger as one file that knows whether it is whole
    restore_judge  cosignature lines and encrypted values, held against the log
    restore      a backup brought back, verified, or not at all
    export       one decision as a canonical ZIP
    receipt      a receipt, a record's proof, a range of a stream: small files
    whole_file   a file that somebody asked for, whole or not there
    errors       everything that can go wrong, by name

Nothing here imports another package of the project.
"""
