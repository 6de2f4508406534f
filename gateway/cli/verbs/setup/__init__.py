"""Verbs that set an installation up and start it.

Not here: verbs about orders or evidence.

    begin        init and doctor: a new installation, the look at one before it starts
    run          run and serve
    keys         keygen, officer-key, log-key, row-key, rotate-key, revoke-key, disavow and
                 settings
    policy       policy new, show, sign, activate and diff
    instruments  instruments check, show and example: the table of instruments
"""
