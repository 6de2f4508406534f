"""The causal volatility by which a codec divides every return.

Not here: tokens (`codec/`), scores of baselines.

    path      what a codec asks of a scale
    ewma      codec v1's: exponential averages of squared returns
    law       one variance recursion: GARCH or GJR, with its Student-t tails
    ranges    the log-HAR on each bar's open, high, low and close
    season    sizes of the hours of the week, for bars shorter than a day
    fitted    the laws of one series as of one time, with who fitted them on what
    schedule  when a series is fitted again, and on which of its returns
    moving    codec v2's scale between two bars: all laws' variances, joined
    rows      the scale of many paths at once, equal to one path's to the last bit
    correlation  how instruments move together from day to day, in integers
    fitting   the only door to `arch`, which estimates the laws
"""
