"""Verbs that set an installation up and start it.

Not here: verbs about orders or evidence.

    begin        init, doctor and service: a new installation, the look at it, its systemd unit
    run          run and serve
    keys         keygen, officer-key, log-key, row-key, rotate-key, revoke-key, disavow and
                 settings
    holders      key add, replace, revoke, list and replace-officer
    policy       policy new, show, sign, activate and diff
    profile      profile check, show, example and sidecar: the broker's profile
    promote      promote run, sign, record and show: a model pair before it serves with money
    models       models pin: a folder of Hugging Face models, by the digest of every file
    instruments  instruments check, show and example: the table of instruments
"""
