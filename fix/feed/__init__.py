"""Market data from the broker, in a process of its own that can send nothing but requests for them.

Not here: orders, what a quote is worth (`gateway.feeds.live`).

    book           the top of one book from its entries; pure
    subscriptions  what is asked, what came, what is wrong; pure
    initiator      the quickfix initiator of the market data session
    main           the process: start, events to the gateway, exit
"""
