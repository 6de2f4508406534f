"""Recorded runs of the tests of fairness, against their records.

tables      their cases and p values
statistics  the tests W1 to W8, computed again
together    the test W9, computed again
windows     recorded runs against their records

Not here: how the tests are run (`risk.windows`).
"""
