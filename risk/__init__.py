"""From forecast to verdict: pure, integers only; read in this order.

1. `instrument`: units of what is traded.
2. `intent`: what somebody wants to do.
3. `verdict`: the answer, with every check behind it.
4. `canonical`: bytes and digests of all of these.
5. `holding`: one instrument at average cost.
6. `book`: positions, reservations, losses, folded from events.
7. `book_fold`: a book folded on, past trades that are taken back.
8. `book_document`: the book as a document.
9. `policy`: the numbers that officers sign.
10. `signing`: their signatures.
11. `state`: what the rules may look at.
12. `state_document`: the state read back.
13. `sizing`: from forecast to intent.
14. `rules`: the rules.
15. `evaluate`: all rules over one intent.
16. `approved`: the only thing that may be sent.
17. `errors`: what a parser, a fold or an approval raises.
"""
