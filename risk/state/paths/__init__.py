"""Sampled paths of a whole book, and what they say about losses.

Not here: sampling (`inference`), and what is permitted (`risk/rules/account/horizon.py`).

    marginal  the sampled paths of one instrument, with the past that they follow
    joint     the paths of several instruments, of which those of one number happen together
    arrays    the same as arrays of 64-bit integers, and which of them trip a limit
    losses    shortfall and chance of a tripped limit on joint paths, with their errors
    budgets   a policy's two budgets, and what a target may be inside them
"""
