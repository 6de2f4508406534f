"""What was drafted, accepted, drawn and kept; seeds; pure.

Not here: vLLM.

    seeds           where every random number of a forecast comes from
    rounds          draft rounds: what the drafter proposed, what the target held, what was drawn,
                    what came out
    capture         the byte form of a capture: one line of canonical JSON, then a pool of float32
                    rows
    evidence        what the ledger keeps of a capture
    condense        from full rows to evidence: what decided is kept, and it is checked that it
                    still decides
    evidence_bytes  the byte form of evidence, version 2 of a capture
"""
