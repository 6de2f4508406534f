"""Making the weights: data to a target, a target to its drafters, both to figures.

Reading order: sources, series, synthetic, windows, model, checkpoint, train, sampling, distil,
evaluate, export, card, __main__.
"""
