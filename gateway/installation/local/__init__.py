"""How a verb of the same machine reaches the running gateway.

Not here: what a verb asks for (`gateway.launch.commands`).

    door    the Unix socket, and the check of who answers
    client  requests through it
"""
