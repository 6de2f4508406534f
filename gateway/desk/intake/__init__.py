"""What comes in: agents' intents, what feeds deliver, and who reads what.

Not here: the request and its answer as a whole (`gateway.desk.desk`), transport.

    intents     an agent's request as a decision id, a record and a wish
    strategies  proposals: the playback's volatility-target overlay, and an agent's wish
    scope       an agent's intent held against the scope of its key
    admission   who is handled next: a bounded line in which every key waits as long
    load        how much there is to do, against the deadline of an answer
    asking      an agent's request as the first record of its decision
    earlier     an agent's decision as a case again, from its records
    answers     answers to an agent, made from the decision's records
    withheld    what a submitter is not told: which rule about conduct refused
    passing     what would have passed instead, and what uses up the room
    receipts    signatures over answers
    reads       records of who looked at what
    feeding     what feeds deliver: judged, a change of condition on record
    filling     a back-fill from a file: checked, on record, taken
    foreign     orders at the broker that are not ours
"""
