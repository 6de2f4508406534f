"""Records to page values and SVG.

Not here: routes, FastAPI.

    lists      ledger records to what the pages show
    cosigners  who cosigned the newest checkpoint that anybody did, as the ledger page shows it
    evidence   the page on which a browser checks a record by itself, and the bytes that it
               downloads for it
    decision   one decision's records as the walk: a value per step, in order, for the template
    renewal    what an approver saw beside what was renewed after the answer, both from the record
    tables     two tables of the decision page
    tokens     draft rounds as a person reads them
    positions  positions, exposure and profit of a run and its placebo twin, folded as the gateway
               folds them
    plots      values to SVG text, on the server: fan chart and line plot
    formats    numbers and times as a person reads them
    body       a record's payload as the pages read it: a missing or odd field is absent, never a
               crash
"""
