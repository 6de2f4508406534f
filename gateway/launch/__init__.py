"""The plan, the start in a fixed order, the background threads.

Not here: a rule of the walk, a verb's options.

    plan          everything that is decided before the start
    parts         functions that make one part each: engine, database, ledger, counterparty, tools
    controls      functions that make the controls apart from the kill, and a start's mode
    app           the composition root: starts and stops every part in a fixed order
    run           the wait for signals and for the engine, and the verb `serve`
    feeds         the market that feeds deliver: its board, its table, who takes items
    events        the events of the children, handled in the background
    session       the start of the FIX session; what to do when its folder was lost
    setup/        a new installation, and the look at one before it starts
    commands/     commands that speak to a gateway that may be running
    paper/        `run`: sessions played in paper mode, the demo agent, the summary
    threads/      the background threads
"""
