"""Commands of the desk: to a gateway that may be running, and about its tables and profile.

Not here: options and help.

    differences  list and resolve differences, through the running gateway
    adjustments  sign and send adjustments of a book
    instruments  check and show a table of instruments
    prices       the prices by which a draft policy scales its limits
    policies     a policy's draft for a table of instruments
    orders       list orders and cancel one, through the running gateway
    modes        the mode on record, what another needs, and its signature
    stops        pause, reduce-only, resume, cancel-all, and drills of the kill
    oversight/   tests of fairness, and cases about conduct
    profile      check and show the broker's profile
    backfill     fill what is missing from a file, through the running gateway
    market       check the files that are followed
    kill         kill and release, with or without a running gateway
"""
