"""Step 10: what is read from a ledger and given away.

Not here: appending to the walk's streams, formats.

    replay/       one decision again, from its records alone
    decisions     decisions: which there are, for the verbs that take the id of one
    trust         what somebody brings to check a log, read with words for what people mistake for
                  it
    verification  verify and dump: the ledger against a key from outside, and the whole ledger as
                  one file
    integrity     fsck for people: which log, trusted what, how far it is, and the verdict in
                  words
    backup        backup and restore for people: what is carried away, what comes back, and what
                  was lost
    explanation   show: everything that a decision was made of, as one JSON document, decoded
    bundle        export: one decision as a bundle that proves itself without us
    proof         receipt and prove: evidence in one small file for somebody who trusts nothing
                  here
    publication/  the log for outsiders: what is shown, mirrored, and under which witness policy
"""
