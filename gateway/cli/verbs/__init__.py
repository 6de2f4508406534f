"""Names, options and help of the verbs; a body of at most ten lines.

Not here: printing more than the result.

    run          run and serve
    check        verify, dump, decisions, show, replay and export: what anyone may ask of the
                 ledger
    maintain     fsck, backup, restore and migrate
    prove        receipt and prove: single proofs as small files that anyone can check offline
    publish      witness and tiles: cosign checkpoints, and publish the tree as static files
    kill         kill, kill-report and release
    differences  differences and resolve
    keys         keygen, officer-key, log-key, row-key, rotate-key, revoke-key, disavow and
                 settings
    policy       policy new, show, sign and diff
    instruments  instruments check, show and example: the table of instruments
    privacy      erase, hold, release-hold, disclose: personal values in the ledger
    train        train: the model pair, through the same code that made the bundled one
"""
