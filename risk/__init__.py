"""From forecast to verdict: pure, integers only.

Not here: I/O of any kind.

    state/     what rules may look at: instrument, holding, book, and the state as documents
    policy/    the numbers that officers sign
    intent     what somebody wants to do
    verdict    the answer, with every check behind it
    canonical  bytes and digests of all of these
    documents  values to documents and back, as their types say
    sizing     from forecast to intent
    rules/     one file per family of rules
    evaluate   all rules over one intent
    approved   the only thing that may be sent
    errors     what a parser, a fold or an approval raises
"""
