"""A model pair before it serves: learnt from records, judged, promoted.

Not here: what a pair is (`inference.weights`), how one is trained (`inference.training`).

    distillation  the verb distill: a new drafter's table from this ledger's records
    promotion     the verb promote: a model pair judged, signed and on record
"""
