"""One FIX child process per session.

Not here: what a report means.

    main          the child process
    worker        what the FIX child does: commands from the gateway, reports from the broker,
                  sweeps on its own
    guard         the last word on every outbound message
    link          the pipe between gateway and child
    initiator     the quickfix initiator: one session, every callback totally guarded, nothing
                  kept afterwards
    listener      what a session tells of: where its callbacks go, and what was sent
    logon_probe   whether no gap is left after a logon, before anything is sent
    redial        how often a session that is down is tried: by the profile, and every second
                  while killed
    line          connects of this process that hang: nobody answered the first packet, nobody
                  will soon
    sweep_worker  the child's sweeping: what the sweeper asks for is noted in the journal, sent,
                  and told
"""
