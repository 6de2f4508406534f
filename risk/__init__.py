"""From forecast to verdict: pure, integers only; read in this order.

1. `instrument`: units of what is traded.
2. `intent`: what somebody wants to do.
3. `verdict`: the answer, with every check behind it.
4. `canonical`: bytes and digests of all of these.
5. `book`: positions, reservations, losses, folded from events.
6. `book_document`: the book as a document.
7. `policy`: the numbers that officers sign.
8. `signing`: their signatures.
9. `state`: what the rules may look at.
10. `state_document`: the state read back.
11. `sizing`: from forecast to intent.
12. `rules`: the rules.
13. `evaluate`: all rules over one intent.
14. `approved`: the only thing that may be sent.
15. `errors`: what a parser, a fold or an approval raises.
"""
