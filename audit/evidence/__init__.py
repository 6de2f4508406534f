"""Evidence about single records and decisions, in files that an outsider can verify.

Not here: the verifier; whom to trust.

    bundle   one decision as a canonical ZIP
    receipt  receipts, proofs of a record, ranges of a stream: small files
"""
