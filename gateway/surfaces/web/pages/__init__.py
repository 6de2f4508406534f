"""Pages and buttons as rows: where each is, who may, what is read or done, how it is shown.

Not here: routes (`binder`), records to values (`views`), HTML (`templates/`).

    page       a row of the table of pages, a row of the table of buttons
    walk       decisions, a decision, a basket
    trading    positions, statement, orders, approvals
    running    the gateway's memory: session, feeds, alarms, stops
    oversight  flow, fairness, reviews, scores, cases, the policy, own publications
    log        the ledger, a record, the files from which a browser checks it
    buttons    what a form makes the desk do, and what it tells the person afterwards
    table      every page, in the order of the navigation, and every button
"""
