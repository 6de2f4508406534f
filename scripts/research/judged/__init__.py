"""The desk's judgement of pair v2: one series per company, one look at 2016-2017.

Not here: forecasts of any folder (`evaluation/walkforward`), how rows are learnt (`scaled`).

    ground  one series per company, scaled on its own past, with its variance proxy
    bars    scores of pair, codec alone, GJR-t, GARCH-t, EWMA at every origin
    judge   pooled figures with intervals, backtests, tracking
    page    `docs/measured/evaluation.md`: bar, figure, interval, reached or not
"""
