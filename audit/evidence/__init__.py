"""Files that prove themselves: bundle and receipt.

Not here: whom to trust.

    bundle   one decision as a canonical ZIP
    receipt  a receipt, a record's proof, a range of a stream: small files
"""
