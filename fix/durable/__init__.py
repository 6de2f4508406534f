"""The files of a FIX session: kill word, inbox, journal, resets, wire log.

Not here: sockets, and what a report means.

    kill_word   the memory-mapped kill word
    inbox       inbound messages, durable before they are processed
    journal     the child's fsynced, hash-chained list of live orders
    accounting  the journal kept in step with what leaves and what the broker says
    continuity  whether the folder continues from the ledger's state
    resets      sequence numbers in use, and every sequence reset
    wire_log    inbound messages byte for byte
"""
