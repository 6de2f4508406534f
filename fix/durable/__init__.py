"""What a FIX session keeps on disk: kill word, inbox, journal, resets, wire log.

Not here: sockets, and what a report means.

    kill_word   the mapped kill word
    inbox       inbound bytes, durable before anything else happens
    journal     the child's own fsynced, chained list of live orders
    continuity  whether the folder goes on where the ledger stands, or begins anew
    resets      what was counted, and each new beginning of the numbers
    wire_log    inbound bytes exactly as they came
"""
