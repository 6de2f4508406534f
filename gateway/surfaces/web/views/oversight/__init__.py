"""What those who watch over the desk look at, as page values.

Not here: the tests and the draw (`risk.windows`).

    policies the policy in force, where its numbers come from, trials
    fairness  the runs of the tests of fairness, with a bar for each group
    gjr       the GJR twin of one decision
    scores    how forecasts did, with a plot of ranks for each model
    verdicts  what became of each sampled path of a forecast
    remarks   overrides that a decision used, and what persons remarked about it
    baskets   a basket of orders, with a row for each leg
    reviews   samples of blind reviews, with a plot of closes for each decision
"""
