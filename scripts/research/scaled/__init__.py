"""Pair v2: the table on the GARCH scale, and what may replace it.

Training until 2013, choice and calibration on 2014-2015; nothing of 2016 or later is read here.

Not here: the judgement on 2016-2017 and later.

    history       series until 2015 with the scale before every return
    table         rows of 256 bins from standardised returns
    table_target  a Llama whose rows are such a table
    cloud         the moving scale of many paths at once
    rivals        GARCH-t, GJR-t and EWMA at the same origins
    choice        scores on 2014-2015, the release gate
    card          the model card of pair v2
    making        the phases behind the command
"""
