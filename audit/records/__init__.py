"""What one record is: kinds, canonical bytes, header, leaf, chain, commitments; pure.

Not here: trees and storage.

    record      a draft becomes a header, a leaf and a record
    kind_names  the names of kinds and streams
    kinds       the closed list of record kinds, in walk order
    kind_spec   what one row of the list says
    canonical   JSON to the one byte string that is hashed (RFC 8785, our profile)
    personal    personal values: salted commitments in the leaf, disclosures apart
    sound       whether a record's columns are what its leaf says
    chain       streams: dense numbers, previous leaves, stream-head maps
    row_key     which rows this gateway wrote: a MAC over each leaf
    row         a row of the ledger as it is written: a record, and what is stored beside it
"""
