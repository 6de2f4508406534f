"""The human checkpoint: what waits for a person, what he is shown, what becomes of the answer.

Not here: what a yes covers (`risk.approved`) and the renewal after it (`gateway.walk.approval`).

    sheet      what an approver is shown, and the check that he read it
    answering  a person's answer on record
    waiting    the holds that wait, and those that ended last
    holds      holds of an earlier run, taken over at a start
"""
