"""Making the weights: data to a target, a target to its drafters, all to figures.

Reading order: sources, series, synthetic, windows, model, checkpoint, train, sampling, distil,
export, score, evaluate, news_effect, card, phases. Start with
``python -m inference.training --help``.
"""
