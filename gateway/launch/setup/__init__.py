"""A new installation, and the look at one before it starts.

Not here: what a key, a policy or a setting is (`installation/`).

    answers        what a new installation is, from options or from questions
    homes          its keys by role, each in the folder of its holder
    agent_scope    the scope of its agent's key: starting values in a file
    settings_text  the text of its `countersign.toml`
    wizard         the verb init, which makes it
    findings       what doctor found, and how it is told
    own_files      the look at settings, keys, instruments, policy, model
    outside        the look at database, clock, disk, port, broker
    doctor         the verb doctor: every look
    register       the verb register: digests of what runs
    pairs/         a model pair before it serves: learnt from records, judged, promoted
    service        the verb service: a systemd unit
    certify        the verb certify: a broker tried case by case, in a folder of its own
"""
