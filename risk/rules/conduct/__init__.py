"""Patterns of own orders, before one more is sent; what a pattern means is for persons to say.

The catalogue of rules lists the files; the first line of each says what it measures.

Not here: cancels, which no rule refuses, and detectors that look back over a day.
"""
