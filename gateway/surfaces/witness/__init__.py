"""A witness for any C2SP log, with its own process, keys and memory.

Not here: this gateway's state.

    followed_logs  the logs that a witness follows: keys from the command line, or watched files
    server         the witness as an HTTP server
"""
