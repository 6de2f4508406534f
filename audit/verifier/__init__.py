"""The outsider's verifier in one file, for Python and for JavaScript; it imports nothing of ours.

Not here: anything that the ledger uses too.

    verify  the one-file verifier for outsiders (standard library + cryptography)
"""
