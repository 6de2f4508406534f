"""A session and its orders tried case by case against a broker's certification environment.

Not here: the session's process, files of the installation (`gateway/launch/setup/certify`).

    evidence       what is on record before a message leaves, and the ids that follow from it
    cases          a case, its outcome, and the run that a case acts on
    session_cases  logon, heartbeat, gaps, reject, reset, logout
    order_cases    orders, fills, cancels, status, mass cancel, cancel on disconnect
    report         the report as JSON, text and HTML
"""
