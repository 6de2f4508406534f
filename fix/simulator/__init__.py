"""The paper counterparty, a FIX acceptor in its own process.

Not here: rules of the product.

    acceptor  the simulator, a FIX acceptor in its own process
    control   quotes, clock and command line of the simulator
    order     an order as the simulator keeps it
    market    the simulator's published table and matching, pure
"""
