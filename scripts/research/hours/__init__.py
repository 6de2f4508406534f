"""Pair v4: pair v3 with rows for hourly bars that were divided by the size of their hour.

Only the rows of hourly bars are learnt anew; every daily weight is pair v3's. Nothing of 2016 or
later is read: 2016 and 2017 were opened once by `judged/` and are spent.

Not here: how the size of an hour is estimated (`inference/scale/season.py`).

    ground   hourly series until 2015, each with and without the sizes of its hours
    figures  scores by fold, before and after, with intervals
    making   rows and weights of the pair
    page     the page and the card, written from the figures
"""
