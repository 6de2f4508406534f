"""One supervisor per child process: start, ask with a deadline, end, restart.

Not here: what a message or a forecast means.

    child            a child process and the pipe to it, under both supervisors
    engine           supervisor of the engine child: starts, asks with deadlines, ends and
                     restarts it
    engine_process   the engine child as a process: its configuration, its environment, its start
    fix_life         one life of the FIX child: its process, the pipe to it, who waits for an
                     answer, its death
    fix              supervisor of the FIX child
    postmaster       whether a PostgreSQL server lives in a data folder
    postgres_access  who the embedded PostgreSQL lets in: our own user, on the kernel's word, by
                     no password
    postgres         the embedded PostgreSQL: our own child process, started from the wheel's
                     binaries
    own_process      whether a process that was started earlier is still ours, and whether a port
                     is really its own
    simulator        the paper counterparty as a process
"""
