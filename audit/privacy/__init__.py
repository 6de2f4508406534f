"""Personal values: retention, holds, vault, erasure.

Not here: a broker's fields, log files.

    names        names of persons as text, and words that mention one
    disclosures  encrypted personal values in the database: read, deleted, and what that answers
    retention    how long personal values must be kept
    vault        subject keys, outside PostgreSQL
    holds        legal holds: what they cover, who lifts them
    mentions     names in words, which stay in the log
    erasable     whether statutes and holds let go of a person's values
    erasure      a person's values, forgotten; every proof stays
"""
