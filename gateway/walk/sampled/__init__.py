"""What else is made of sampled paths, beside the decision's own forecast.

Not here: sampling (`inference`), the decision itself (`gateway.walk.decision`).

    agreed   an engine that samples only once its build and model are on record
    joint    the paths of the whole book, joined once per set of standing forecasts
    placebo  a twin's decision: the table model's beside every one, and the GJR twin's
    planning how much a forecast samples, and in which mode
    gjr      the twin that simulates GJR, of every decision with a fitted scale
    four_books  an account, both twins and the target as simulated: columns that sum
    news     the twin without words of every decision with news
"""
