"""Records to page values and SVG.

Not here: routes, FastAPI.

    lists      ledger records to what the pages show
    cosigners  who cosigned the newest cosigned checkpoint
    evidence   the files from which a browser checks a record by itself
    decision   one decision's records as the walk: a value per step, in order, for the template
    renewal    what an approver saw beside what was renewed after the answer
    tables     two tables of the decision page: prompt tokens, rule checks
    tokens     draft rounds as a person reads them
    positions  positions, exposure and profit of an account and its placebo twin
    oversight/ tests of fairness and blind reviews
    plots      values to SVG text, on the server: fan chart, line plot, bars
    formats    numbers and times as a person reads them
    body       lenient reading of a record's payload: a missing or odd field is absent
"""
