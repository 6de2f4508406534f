"""Snapshot to tokens and back.

Not here: sampling.

    vocabulary  token ids of codec v1, in one place
    volatility  causal volatility of codec v1: the scale by which every return is divided
    bins        256 return bins: uniform in asinh(z / 0.9) for scaled returns |z| <= 16
    narrative   news items to narrative words: which items, in which order, and how old
    prompt      what the engine is asked: token ids, and the scale that turns its answer into
                returns
    codec       snapshot to tokens and tokens back to returns: codec v1
"""
