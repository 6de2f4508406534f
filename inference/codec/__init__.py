"""Snapshot to tokens and back.

Not here: sampling.

    alphabet    the symbols of an answer: vocabulary ids and recorded tokens
    vocabulary  token ids of codec v1
    bins        256 bins of scaled returns
    narrative   news items to narrative words
    prompt      token ids for the engine, and the scale that turns its answer into returns
    codec       snapshot to tokens and tokens back to returns: codec v1
    scaled      the same tokens on a fitted scale: codec v2
    paths       tokens of many paths to returns, equal to one path's to the last bit
    text        a prompt in words and an answer of fixed width, for instruct models
"""
