"""The book and the orders held against what the broker says, and what a start finds.

Not here: a person's word on it.

    booking     what a trade books: in whole lots and ticks, for the order that was sent
    resends     what of a session was heard before: a message that is sent again may be older
                than the book
    quarantine  what a broker's message says that the book does not, each one as it is settled
    book_check  the whole book held against the broker's own words, read again from the bytes that
                came in
    cancels     the cancels of a sweep, on record
    asking      asking the broker for orders that nobody reported on: silence is a question, no
                answer
    recovery    what a start finds and does: every decision that a crash left open is brought to
                its end
"""
