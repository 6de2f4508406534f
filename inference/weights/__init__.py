"""The model pair on disk, and its rows computed again.

Not here: serving.

    registry      the model pair on disk, checked against its manifest
    promotion     the promotion gate: a pair's card, and what it must show
    teacher       rows of given tokens in float64, without an engine
    regeneration  a record's numbers compared with rows computed from the weights
"""
