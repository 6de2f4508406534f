"""Statistics of forecasts: pure functions of numbers, with a seed where they draw.

Not here: files, models, the walk through a series.

    laws       a one-bar law in 256 bins, and a law as a sample of paths: scores, ranks, tails
    backtests  tests of VaR and expected shortfall; the joint loss; Holm's correction
    ratios     pooled ratios and differences with intervals by blocks of months
"""
