"""Training data.

Not here: a network.

    sources    series as read from files and from the `arch` package
    series     raw prices to coded series
    synthetic  series with known laws, and news with known effects
    windows    batches of training sequences
"""
