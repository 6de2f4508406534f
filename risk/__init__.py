"""From forecast to verdict: pure, integers only.

Not here: I/O of any kind.

    numbers/   what a number of a policy states, and which parts of a policy rules read
    state/     the state that rules read: instrument, holding, book
    intent     a proposed order
    verdict    the answer to an intent, with every check
    forms/     bytes, documents, closed lists of words
    sizing     from forecast to intent
    rules/     one folder for each family of rules, with the numbers that they declare
    policy/    the signed limits
    windows/   statistics of many verdicts and orders
    evaluate   all rules over one intent
    approved   the only order that may be sent
    errors     errors of parsers, folds and approvals
"""
