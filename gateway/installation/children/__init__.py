"""Supervisors of child processes: start, ask with a deadline, end, restart.

Not here: what a message or a forecast means.

    child            a child process, the pipe to it, and what it must have as we have it
    engine           supervisor of the engine child
    engine_pace      how fast the engine is, and how much it has to do
    engine_process   the engine child's configuration, environment and start
    fix_life         one run of the FIX child: its process, pending answers, death
    fix              supervisor of the FIX child
    shadow           the FIX session of shadow mode: there is none
    postmaster       whether a PostgreSQL server runs in a data folder
    postgres_access  the embedded PostgreSQL's access rules: our own user, without a password
    postgres         the embedded PostgreSQL server
    own_process      proof that a process and its port are our own
    fix_profiles     the broker's profile that the settings name
    simulator        the paper counterparty as a process
"""
