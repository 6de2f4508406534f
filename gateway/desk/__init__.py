"""What a caller may ask of the walk, in the caller's words.

Not here: transport, HTML, the walk's own order.

    desk        the desk: what the API, the pages and the playback may ask for, each a few calls
                to the walk
    requests    bodies of the API: strict, closed, with units
    intents     an agent's intent before anything is made of it: which decision it is, and what it
                wants
    strategies  who proposes what: the playback's volatility-target overlay, and an agent's wish
                as it stands
    answers     what an agent is told: the verdict as it stands on record, every rule with its
                margin
    reads       reads on record: who looked at what, once for each person, object and minute
    kill        the kill: close the gate, make it durable, prove the child saw it, then
                acknowledge
    release     a kill's release: what two roles sign, and the gate that opens once it is on
                record
    statements  what the signing roles sign, and whether both did
    resolution  a person's word on a difference between the book and the broker, on record before
                it counts
"""
