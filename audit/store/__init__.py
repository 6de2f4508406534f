"""The PostgreSQL doors: schema, logins, connection, rows on the wire, reading.

Not here: the order of records, policy, HTTP.

    tables      the schema's version and how a database gets it
    logins      the login: a user without rights of its own
    watchdog    deadlines for database calls
    wire        rows as PostgreSQL's binary forms: arrays and COPY
    pipe        one commit on the wire, sent without waiting
    connection  the psycopg door for writing: one fenced connection
    blobs       bytes too long for a record, stored before it
    tiles       tiles over the database: full ones stored, partial ones made on request
    row_judge   rows checked against a row key as they are read
    recent      the newest records, kept by the process that commits them
    reader      the read side: records, blobs, heads and proofs
    catalog     whether the tables still match the migrations
"""
