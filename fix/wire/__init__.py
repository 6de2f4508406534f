"""Fields and bytes; pure.

Not here: state and sockets.

    reports   fields to execution reports, cancel rejects and rejects
    resends   when a message was said first: what one that is sent again is held against
    identity  ClOrdID from the approving record
    messages  an approved order to fields, and any bytes to fields
    persons   which fields of a FIX message can name a natural person, and the message without
              them
"""
