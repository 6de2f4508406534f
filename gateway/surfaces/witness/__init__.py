"""A witness for anybody's log: its own process, keys and memory.

Not here: this gateway's state.

    followed_logs  which logs a witness follows: keys from the command line, or files that are
                   read again
    server         a witness for any C2SP log
"""
