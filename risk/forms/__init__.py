"""How risk's values are written: bytes, documents, and the closed lists of words.

Not here: what a value means.

    names      an instrument's name, an order's side
    words      the closed lists of a verdict: actions, rules, outcomes, units, reasons
    canonical  canonical bytes and digests
    documents  dataclasses to documents and back
    money      minor units of a currency
    terms      listed terms in a text, folded word by word
"""
