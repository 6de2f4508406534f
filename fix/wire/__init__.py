"""Fields and bytes; pure.

Not here: state and sockets.

    reports      inbound messages to typed reports
    resends      whether a resent report is older than what was heard
    identity     ClOrdID from the approving record
    messages     orders and requests to fields, and bytes to fields
    market_data  requests for market data, and their answers
    persons      a FIX message without the names of persons
"""
