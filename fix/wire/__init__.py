"""Fields and bytes; pure.

Not here: state and sockets.

    fields       bytes to fields
    reader       the fields of one message by tag
    fees         what a report's commission and fees come to
    reports      inbound messages to typed reports
    resends      whether a resent report is older than what was heard
    identity     ClOrdID from the approving record
    messages     orders and requests to fields
    market_data  requests for market data, and their answers
    persons      a FIX message without the names of persons
"""
