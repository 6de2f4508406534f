"""Personal values in one installation: erase, hold, disclose, clean logs.

Not here: what an erasure is, which FIX field names a person.

    requests  request bodies: erase, hold, lift a hold, disclose
    logs      overwrites names in the logs of an installation
    erasure   erasure, holds and disclosure over one installation's vault and files
    answers   the answers of the API and the command line
    commands  the verbs erase, hold, release-hold and disclose
"""
