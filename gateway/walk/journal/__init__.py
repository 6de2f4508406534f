"""Step 7: values to records and back; a kind's writer and its reader stand in one room.

A reader is a `Contents`: `VerdictGiven.of(record).kill_epoch`. No other room of the gateway takes a
payload apart by field names. Not here: when a record is appended.

    contents    what the readers share: typed contents, fills, endings
    decision    a decision's request, quote, intent, placebo, seal
    forecast    its snapshot, sampling request, captured rounds, forecast
    order       an order: announced, handed out, reported, ended
    verdict     the verdict, and a person's answer to a held one
    session     a FIX session: messages as they came in, anomalies, new beginnings of its numbers
    difference  where the book and the broker differ, and how a person resolved it
    kill        a kill: press, cancels, outcome, release
    run         a run: its opening, what serves, its marks, its end; upkeep of the log
    access      who read and who was refused
    persons     names out of broker messages, into personal fields
    own_keys    what goes on record although a disavowed row holds its key
"""
