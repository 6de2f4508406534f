"""The paper broker, a FIX acceptor in its own process.

Not here: rules of the product.

    acceptor    the process: quickfix, capture, and one worker
    cut         ends a connection below the engine
    strictness  what it checks in a message beyond the gateway's dictionary; pure
    control     command line, quotes, control file and capture file
    order       an order as the simulator keeps it
    fills       its own file of fills, from the capture
    reporting   what it says about an order, report by report; pure
    acts        what a test or a person lets it do; pure
    play        the same by hand, from the command line
    ticker      what it says about prices; pure
    market      the published table of outcomes, and matching; pure
"""
