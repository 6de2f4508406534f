"""Scores and the model card.

Not here: training.

    score        proper scores, and decoding of many sampled paths
    evaluate     skill against EWMA and coverage on 2016-2017
    news_effect  the measured effect of news on the model
    statistics/  pure statistics: scores of laws, backtests, intervals
    walkforward/ `countersign evaluate`: any folder, against six baselines
    stress       made-up markets asked of an engine, for the promotion gate
    card         the model card, written from the manifest
"""
