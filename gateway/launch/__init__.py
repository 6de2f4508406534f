"""Before the start, the start in one stated order, the threads that run on.

Not here: a rule of the walk, a verb's options.

    plan          what is decided before anything starts
    parts         the parts that a start makes one by one: engine, database, ledger, counterparty,
                  tools
    app           the composition root: every part of the gateway made, started and stopped in one
                  stated order
    run           the wait for signals and for the engine, and the verb `serve`
    events        what the children say: each event to where it belongs, never on the thread that
                  brought it
    settler       the thread that settles: reads the inbox from the last recorded offset, in order
    session       a FIX session whose folder was lost
    publisher     our checkpoints to their witnesses: the publisher of one run, and what is said
                  about it
    housekeeping  what time asks for: rounds of chores, of which none stops another, nor the next
                  round
    pulse         readiness of the database
    commands/     commands that speak to a gateway that may be running
    paper/        `run`: sessions played in paper mode, the demo agent, the summary
"""
