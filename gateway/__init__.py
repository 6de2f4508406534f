"""The composition: everything that joins ledger, risk, inference and FIX into one gate.

Read feeds (step 1 of the walk), walk (2 to 9) and evidence (10) first; the rest carries them. Not
here: a rule, a format, a model, a FIX field, a generic helper.

    feeds/         step 1: bytes from outside to typed parts of a snapshot
    walk/          steps 2 to 9: decide, dispatch, settle, with an append before every effect
    desk/          what a caller may ask of the walk, in the caller's words
    evidence/      step 10: what is read from a ledger and given away
    privacy/       personal values in one installation: erase, hold, disclose, clean logs
    surfaces/      what listens on a socket, one folder per audience
    cli/           the `countersign` command: application, exit codes, standard output
    launch/        before the start, the start in one stated order, the threads that run on
    installation/  this machine's installation: settings, state folder, locks, keys, database,
                   children
    telemetry/     what operators see and may lose: spans and console lines
    clock          the one clock of the gateway
    errors         errors of the gateway
"""
