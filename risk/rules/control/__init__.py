"""Whether anything may be judged at all, and whether a person must judge it.

The catalogue of rules lists the files; the first line of each says what it measures. One file is
no rule:

    overriding  an exceptional override lifts one limit, once

Not here: limits.
"""
