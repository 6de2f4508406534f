"""Scores and the model card.

Not here: training.

    card         the model card, written from the manifest: no figure in it was typed by hand
    evaluate     figures of a pair on 2016-2017: skill against EWMA, coverage, and what news does
    news_effect  does news do in the model what it did in the worlds that taught it?
    score        proper scores and the decoding of many sampled paths at once (numpy, for figures
                 only)
"""
