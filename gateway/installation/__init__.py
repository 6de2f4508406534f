"""This machine's installation: settings, state folder, locks, keys, database, children.

Not here: the walk, HTTP, the text of a verb.

    database      the embedded one or a given one, entered by a plain login
    children/     one supervisor per child process: start, ask with a deadline, end, restart
    keys/         whose keys these are, where they lie, and how they change
    policy        where the policy in force comes from
    settings      every setting of Countersign, once: one prefix, one frozen model, unknown names
                  refused
    state         the state folder: where each part keeps what it keeps, and the lock that one
                  gateway holds
    press_notes   who pressed the kill and why, until the ledger has it
    place         how a verb reaches an existing ledger
    trial         a state folder on trial: what a verb made in it stays only when the verb says so
    local_door    the door for verbs of the same machine
    local_client  how a verb asks the gateway that runs on its state folder
"""
