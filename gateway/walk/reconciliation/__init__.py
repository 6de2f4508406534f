"""The book and the orders compared with the broker's reports, and what a start does.

Not here: how a person resolves a difference.

    booking     what a trade books: whole lots and ticks
    applying    what a report does to its order
    resends     whether a message that is sent again is older than the record
    strangers   messages about orders that are not ours
    quarantine  differences shown by one message, as it is settled
    book_check  the whole book compared with the broker's own messages
    cancels     cancels of the FIX child, recorded
    cancel_ends how a cancel that somebody asked for ends
    replace_ends how a replace ends
    restating   what a broker's own change leaves of an order and its reservation
    asking      status requests for orders without a report
    recovery    what a start does about open decisions
"""
