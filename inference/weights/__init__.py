"""The model pair on disk, and what it says when it is asked again.

Not here: serving.

    registry      the model pair on disk: checked against its manifest before anything is loaded
    teacher       rows by teacher forcing: the weights' own answer to given tokens, in float64,
                  without any engine
    regeneration  regeneration: every row behind a record made again from the weights, and
                  compared with it
"""
