"""The PostgreSQL doors: schema, logins, connection, rows on the wire, reading.

Not here: the order of records, policy, HTTP.

    tables      the schema's version and how a database gets it
    logins      who logs in: a user with nothing that `SET ROLE NONE` could give back
    watchdog    deadlines for database calls
    wire        rows as PostgreSQL's binary forms: arrays and COPY
    pipe        one commit on the wire, sent without waiting
    connection  the psycopg door for writing: one fenced connection
    blobs       bytes too long for a record, stored before it
    tiles       tiles over the database: full ones stored, partial ones when asked for
    row_judge   rows held against a row key as they are read
    reader      the read side: records, blobs, heads and proofs
    catalog     whether the tables still are the migration's
"""
