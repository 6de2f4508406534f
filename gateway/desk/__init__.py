"""What a caller may ask of the walk, in the caller's words.

Not here: transport, HTML, the walk's own order.

    desk        the requests of the API, the pages and the playback, each a few calls to the walk
    performing  what each act of the table does, by its name
    bodies/     bodies of what persons ask
    requests    request and answer bodies: strict, closed, with units
    intents     an agent's request as a decision id, a record and a wish
    strategies  proposals: the playback's volatility-target overlay, and an agent's wish
    orders      orders as their owners see them, and the cancel of one order
    foreign     orders at the broker that are not ours
    answers     answers to an agent, made from the decision's records
    feeding     what feeds deliver: judged, a change of condition on record
    filling     a back-fill from a file: checked, on record, taken
    reads       records of who looked at what
    agents/     limits of agents' keys, receipts, events
    persons/    what operators, approvers and officers may ask
"""
