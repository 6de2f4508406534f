"""What the product asks of a pair besides serving: is it good, and what could its drafter learn.

Not here: serving; how the shipped weights were made (`scripts/research`).

    sources      when training ended, classes of symbols
    series       largest moves and splits of a series
    model        the network
    sampling     its rows and paths
    recorded     a new table for a pair, from tokens that a ledger kept
    evaluation/  scores, the walk forward, stress
"""
