"""What was drafted, accepted, drawn and kept; seeds; pure.

Not here: vLLM.

    seeds           the source of every random number of a forecast
    top_rows        the head of a row over a large vocabulary
    rounds          draft rounds with their full rows, and their recomputation
    capture         the byte form of rounds, version 1 of a capture
    evidence        what the ledger keeps of a capture, and its recomputation
    look_ahead      how far a forecast drafts ahead
    totals          counts and token paths of a capture
    overruled       how far target and drafter were apart, by bar
    condense        full rows to evidence
    fields          numbers in the bytes of a capture
    evidence_bytes  the byte form of evidence, version 2 of a capture
    direct          draws and capture of a forecast whose rows depend on the table's state alone
    direct_bytes    the byte form of a direct capture
    pooled          two samples of tokens, compared state by state
"""
