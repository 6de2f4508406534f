"""The composition: everything that joins ledger, risk, inference and FIX into one gate.

Read feeds (step 1 of the walk), walk (2 to 9) and evidence (10) first; the rest supports them.

Not here: a rule, a format, a model, a FIX field, a generic helper.

    feeds/         step 1: bytes from outside to typed parts of a snapshot
    walk/          steps 2 to 9: decide, dispatch, settle, with an append before every effect
    acts/          the table of what may be asked of the desk, a row each
    desk/          what a caller may ask of the walk, in the caller's words
    evidence/      step 10: proofs, exports and checks made from a ledger
    privacy/       personal values in one installation: erase, hold, disclose, clean logs
    surfaces/      servers that listen on a socket, one folder for each audience
    cli/           the `countersign` command: application, exit codes, standard output
    launch/        the plan, the start in a fixed order, the background threads
    installation/  this machine's installation: settings, state folder, locks, keys, database,
                   children
    telemetry/     spans and console lines for operators
    clock          the only clock of the gateway, and the days that people write
    errors         errors of the gateway
"""
