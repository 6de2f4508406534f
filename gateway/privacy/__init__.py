"""Personal values in one installation: erase, hold, disclose, clean logs.

Not here: what an erasure is, which FIX field names a person.

    requests      what a caller may ask: erase, hold, lift a hold, disclose
    logs          names overwritten in the logs of an installation, while others go on writing
                  them
    erasure       erasure, holds and disclosure in one installation: its vault, its files, its
                  years
    answers       what erase, hold, release-hold and disclose answer, to the API and to the
                  command line
    commands      the verbs erase, hold, release-hold and disclose
"""
