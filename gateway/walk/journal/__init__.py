"""Step 7: values to records and back, one function pair per kind.

Not here: when a record is appended.

    run       what stands in the records of a run: its opening, what serves, its marks, its end
    decision  what stands in each record of a decision
    order     what stands in each record from verdict to the order's end
    kill      what stands in the records of a kill: press, cancels, outcome, release
    access    what stands in the records of who read and who was refused, one function per kind
    persons   names out of broker messages, into personal fields
    own_keys  what goes on record although a disavowed row holds its key
"""
