"""Records of what several orders or several clients share.

Not here: what a split or a basket must be (`gateway.desk.agents`).

    allocation  the split of a done order across client accounts
    baskets     a basket of orders: what was asked for, and what became of the whole
"""
