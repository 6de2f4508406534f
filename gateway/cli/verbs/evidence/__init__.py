"""Verbs about the ledger: what anyone may ask of it, its upkeep, its personal values.

Not here: a verb that trades, acts (`gateway.acts`).

    check        verify, dump, decisions, show, replay and export: what anyone may ask of the
                 ledger
    maintain     fsck, backup, restore and migrate
    prove        receipt and prove: single proofs as small files that anyone can check offline
    publish      witness and tiles: cosign checkpoints, and publish the tree as static files
    govern       register, assess, fairness and flow: what may run, and what the year's records show
    criteria     criteria show, new and sign: by what fairness is tested
    ask          ask: a supervisor's questions
    privacy      erase, hold, release-hold, disclose: personal values in the ledger
"""
