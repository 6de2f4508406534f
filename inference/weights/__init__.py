"""The model pair on disk, and its rows computed again.

Not here: serving.

    registry      the model pair on disk, checked against its manifest
    text_pair     a folder of Hugging Face models as a pair; the codec of a pair
    promotion     the promotion gate: a pair's card, and what it must show
    teacher       rows of given tokens in float64, without an engine
    text_teacher  rows of a text model's answers, by transformers
    regeneration  a record's numbers compared with rows computed from the weights
    by_state      whether a target's rows are its table's, state by state
"""
