"""Steps 2 to 9: decide, dispatch, settle, with an append before every effect.

Full on purpose: a thirteenth room here is a change of design. Not here: a driver, a setting,
HTTP, printing, a thread.

    ports            ports and values that the three walk functions are given
    decision         decide(), snapshot to verdict
    placebo          the table model's shadow of every decision
    deadlines        how long an agreement lives, on two clocks
    section          the per-firm section, compare-and-swap
    approval         held decisions and their renewal
    dispatch         dispatch(), approved to sent
    settlement       settle(): one inbound message to the ledger and, through it, to the book
    journal/         step 7: values to records and back, one function pair per kind
    projections/     pure folds over committed records
    reconciliation/  the book and the orders held against what the broker says, and what a start
                     finds
    failpoints       named places where a test may stop the process dead, to prove what a crash
                     there leaves behind
"""
