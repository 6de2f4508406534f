"""Commands that speak to a gateway that may be running.

Not here: options and help.

    differences  the verbs about differences: list and resolve, through the gateway that runs
    kill         kill and release from the command line, with or without a running gateway
"""
