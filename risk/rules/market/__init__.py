"""Whether the market can take the order.

The catalogue of rules lists the files; the first line of each says what it measures.

Not here: age and soundness of a quote (`risk.rules.freshness`).
"""
