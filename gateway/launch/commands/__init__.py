"""Commands that speak to a gateway that may be running.

Not here: options and help.

    differences  list and resolve differences, through the running gateway
    kill         kill and release, with or without a running gateway
"""
