"""Pure folds over committed records.

Not here: effects, waiting, showing.

    book         records to book events
    standing     where one decision and its order stand
    outbox       the outbox as a projection
    differences  where the book and the broker differ, folded from records
    sequence     the numbers of a FIX session by the ledger: counted from the last new beginning
                 on record
    kill_times   when what happened in the newest kill: microseconds since the press, as the
                 ledger has it
"""
