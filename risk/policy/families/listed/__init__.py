"""Families that are lists of officers' entries, which may be left out.

Not here: the restricted list, which every policy of format 2 has.

    fairness   words of protected attributes, proxies and regions
    denied     the deny list: shapes of orders and of trajectories
"""
