"""What those who watch over the desk look at, as page values.

Not here: the tests and the draw (`risk.windows`).

    fairness  the runs of the tests of fairness, with a bar for each group
    scores    how forecasts did, with a plot of ranks for each model
    verdicts  what became of each sampled path of a forecast
    remarks   overrides that a decision used, and what persons remarked about it
    reviews   samples of blind reviews, with a plot of closes for each decision
"""
