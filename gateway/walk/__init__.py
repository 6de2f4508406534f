"""Steps 2 to 9: forecast, decide, dispatch, settle, with an append before every effect.

Full on purpose: a thirteenth room here is a change of design. Not here: a driver, a setting,
HTTP, printing, a thread.

    ports            ports and values that the four walk functions are given
    forecast         forecast(), snapshot to forecast and twins, once for the same inputs
    decision         decide(), forecast, quote and book to verdict
    sampled/         the paths of the whole book, and the twins of every decision
    deadlines        ends of holds, agreements and approvals, on two clocks
    section          the lock under which verdicts are given, compare-and-swap
    approval         held decisions and their renewal
    dispatch         dispatch(), approved to sent, and what keeps an order or a replace here
    settlement       settle(), one inbound message to the ledger and the book
    journal/         step 7: values to records and back
    projections/     pure folds over committed records
    reconciliation/  book and orders compared with the broker's reports, and what a start does
    failpoints       named places where a crash test kills the process
"""
