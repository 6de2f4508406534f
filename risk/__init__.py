"""From forecast to verdict: pure, integers only.

Not here: I/O of any kind.

    state/     the state that rules read: instrument, holding, book
    policy/    the signed limits
    intent     a proposed order
    verdict    the answer to an intent, with every check
    forms/     bytes, documents, closed lists of words
    sizing     from forecast to intent
    rules/     one file for each family of rules
    windows/   statistics of many verdicts and orders
    evaluate   all rules over one intent
    approved   the only order that may be sent
    errors     errors of parsers, folds and approvals
"""
