"""The FIX child process, one for each session.

Not here: what a report means.

    main          the process: start, lock, and exit
    worker        handles commands from the gateway and reports from the broker
    guard         the final check of every outbound message
    link          the pipe between gateway and child
    initiator     the quickfix initiator with its guarded callbacks
    listener      where the callbacks' events go, what was sent, what passed lately
    handing       hands orders out, once each and no faster than allowed
    dictionaries  where dictionaries and shipped profiles are
    logon_probe   proves after a logon that no sequence gap is left
    redial        how often a session that is down tries to log on
    line          lets a session that is down log on, and ends connects that hang
    sweep_worker  notes, sends and reports what the sweeper asks for
"""
