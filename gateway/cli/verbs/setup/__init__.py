"""Verbs that set an installation up and start it.

Not here: verbs about orders or evidence.

    run          run and serve
    keys         keygen, officer-key, log-key, row-key, rotate-key, revoke-key, disavow and
                 settings
    policy       policy new, show, sign and diff
    instruments  instruments check, show and example: the table of instruments
"""
