"""Verbs about the ledger: what anyone may ask of it, its upkeep, its personal values.

Not here: a verb that trades.

    check        verify, dump, decisions, show, replay and export: what anyone may ask of the
                 ledger
    maintain     fsck, backup, restore and migrate
    prove        receipt and prove: single proofs as small files that anyone can check offline
    publish      witness and tiles: cosign checkpoints, and publish the tree as static files
    cases        orders that match an indicator of conduct, and what a reviewer makes of them
    reviews      review: decisions judged again, blind
    justifications  justify: why a proxy or region may move an order
    annotate     annotate: a person's words about a decision
    govern       register, assess, fairness and flow: what may run, and what the year's records show
    criteria     criteria: by what fairness is tested, and who agreed to it
    ask          ask: a supervisor's questions
    privacy      erase, hold, release-hold, disclose: personal values in the ledger
"""
