"""Series, synthetic worlds, windows.

Not here: a network.

    series     raw prices to coded series: cleaning, the codec's scale at every bar, the calendar
               split
    sources    where training data comes from: one row per file, and the series that ``arch``
               carries
    synthetic  series with known laws, and news with known effects
    windows    batches of training sequences, each a prompt as served plus its continuation
"""
