"""Orders that wait for a person: what he is shown, what becomes of his answer.

Not here: what a yes covers (`risk.approved`) and the renewal after it (`gateway.walk.approval`).

    holds      the held decisions of a desk: answered, taken over at a start, ended in time
    waiting    the holds that wait, and those that ended last
    sheet      what an approver is shown, and the check that he read it
    answering  a person's answer on record
    answered   what a person answered in a range of days
"""
