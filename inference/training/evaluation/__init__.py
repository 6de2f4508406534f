"""Scores of forecasts. Not here: training.

score        proper scores, and decoding of many sampled paths
statistics/  pure statistics: scores of laws, backtests, intervals
walkforward/ `countersign evaluate`: any folder, against six baselines
stress       made-up markets asked of an engine, for the promotion gate
"""
