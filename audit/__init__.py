"""The ledger: what happened, in an order that nobody can change unnoticed.

Nothing here imports another package of the project. Not here: names of products, orders or
models.

    errors      every error of this package
    files       whole files, written durably
    tlog/       the transparency-log formats, one C2SP specification per module
    records/    one record: kinds, canonical bytes, header, leaf, chain, commitments
    signers/    the Signer protocol, and where keys live
    store/      the PostgreSQL doors: schema, logins, connection, rows on the wire, reading
    privacy/    personal values: retention, holds, vault, erasure
    sequencer/  the write path: lanes, batch, sequencer, recovery, the gateway's `Ledger`
    witnesses/  cosigning from both sides, quorum and lag
    evidence/   files that prove themselves: bundle and receipt
    upkeep/     the whole ledger: dump, check, backup
    verifier/   the outsider's verifier in one file, for Python and for JavaScript
"""
