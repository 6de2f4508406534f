"""One record: kinds, canonical bytes, header, leaf, chain, commitments. Pure.

Not here: trees and storage.

    record      a draft becomes a header, a leaf and a record
    kind_names  the names of kinds and streams
    kinds       the closed list of record kinds, in walk order
    stop_kinds  the rows about the kill, stops, modes and registered digests
    kind_spec   one row of that list
    ledger_kinds its rows about the ledger itself
    canonical   JSON as the one byte string that is hashed (RFC 8785, our profile)
    typed       values read as a class of fields, safe from any thread
    personal    personal values: salted commitments in the leaf, disclosures stored elsewhere
    sound       whether a record's columns match its leaf
    chain       streams: dense numbers, previous leaves, stream-head maps
    row_key     which rows this gateway wrote: a MAC over each leaf
    row         a record with the columns stored beside it
"""
