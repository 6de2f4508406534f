"""Personal values: retention, holds, vault, erasure.

Not here: a broker's fields, log files.

    names        names of persons as text, and whether a text mentions one
    disclosures  encrypted personal values in the database: read and deleted
    retention    how long personal values must be kept
    vault        subject keys, outside PostgreSQL
    holds        legal holds: their scope, and who may lift them
    mentions     names in free text, which stays in the log
    erasable     whether statutes and holds allow an erasure
    journal      erasures and disclosures as records: value to draft, record to value
    erasure      forgets a person's values; every proof stays valid
"""
