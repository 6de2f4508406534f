"""The outsider's verifier in one file, for Python and for JavaScript; it imports nothing of ours.

Not here: code of the ledger. The ledger in turn is checked with this: `fsck` judges by it.

    verify  the one file for outsiders (standard library + cryptography), built from `parts`
    parts   the source of `verify`, in parts
"""
