"""What else is made of sampled paths, beside the decision's own forecast.

Not here: sampling (`inference`), the decision itself (`gateway.walk.decision`).

    joining  the paths of the whole book, from the forecasts on record
    placebo  the table model's twin of every decision
    planning how much a forecast samples, and in which mode
    news     the twin without words of every decision with news
"""
