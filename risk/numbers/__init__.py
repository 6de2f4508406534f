"""What a policy is made of, without the policy: rules declare their numbers with it.

Not here: the policy (`risk/policy`), and the numbers of single rules (`risk/rules`).

    stated    numbers that state their unit and reasons, names and days
    looser    which direction of a number permits more
    sections  armings, and the numbers of class, instrument and account
    modes     numbers of how much is spent on a forecast
    denied    the deny list: shapes of orders and of trajectories
    lexicon   words of protected attributes, proxies and regions
    standing  whether a policy may be used
    plain     all numbers for one instrument, quick to read
"""
