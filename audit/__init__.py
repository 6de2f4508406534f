"""The ledger: what happened, in an order nobody can change unseen.

Nothing here imports another package of the project. Not here: names of products, orders or
models.

    errors      everything that can go wrong, by name
    files       a folder's names and whole files, durable
    tlog/       the transparency-log formats, one C2SP specification per module
    records/    what one record is: kinds, canonical bytes, header, leaf, chain, commitments
    signers/    the Signer protocol, and where keys live
    store/      the PostgreSQL doors: schema, logins, connection, rows on the wire, reading
    privacy/    personal values: retention, holds, vault, erasure
    sequencer/  the write path: lanes, batch, sequencer, recovery, the ledger that the gateway
                holds
    witnesses/  cosigning from both sides, quorum and lag
    evidence/   files that prove themselves: bundle and receipt
    upkeep/     the whole ledger: dumped, checked, backed up
    verifier/   the outsider's verifier in one file, for Python and for JavaScript
"""
