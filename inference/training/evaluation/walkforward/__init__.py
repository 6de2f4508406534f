"""A walk forward through any folder of series: what `countersign evaluate` does.

Not here: the statistics (`statistics/`), training.

    series     files of prices to returns and variance proxies; errors name file and line
    rivals     the baselines: EWMA, filtered simulation, HAR on ranges, GARCH-t, GJR-t
    pair       the pair under test and its table, as they are served
    walk       forecasts at each origin, from the bars before it, and their scores
    cache      scores kept by the digest of everything that they depend on
    looks      the register of who opened which years
    report     scores to figures
    judge      one evaluation, from a folder to figures
    page       figures as a terminal table and as one HTML file with plots
"""
