"""One record: kinds, canonical bytes, header, leaf, chain, commitments. Pure.

Not here: trees and storage.

    record      a draft becomes a header, a leaf and a record
    kind_table  the names and rows of the kinds, written from their classes
    kinds       the closed list of record kinds, read from that table
    record_kind a kind as one class: where it is filed, its fields, its draft
    canonical   JSON as the one byte string that is hashed (RFC 8785, our profile)
    typed       values read as a class of fields, safe from any thread
    personal    personal values: salted commitments in the leaf, disclosures stored elsewhere
    sound       whether a record's columns match its leaf
    chain       streams: dense numbers, previous leaves, stream-head maps
    row_key     which rows this gateway wrote: a MAC over each leaf
    row         a record with the columns stored beside it
"""
