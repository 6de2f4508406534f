"""Pair v3: the table of pair v2 as drafter, and a target that is that table and hears words.

What words mean is learnt from planted worlds, not from market data: no series is read to fit it.
Real origins of 2014-2015 only measure it. Nothing of 2016 or later is read here.

Not here: the table itself (`scaled/`), and reading the record (`speculation/overruled.py`).

    worlds   planted worlds: what words do there, drawn from stated ranges
    target   the network: the table's weights, the words' places
    fitting  the words' part, fitted to the worlds
    bars     figures on unseen worlds
    real     figures on real origins of 2014-2015 with a fresh tag
    card     the model card of pair v3, and the page of its figures
    making   the phases behind the command
"""
