"""Step 7: values to records and back; the writer and the reader of a kind stand in one module.

`VerdictGiven.of(record).kill_epoch` reads a field. No other module of the gateway takes a payload
apart by field names. Not here: when a record is appended.

    form        the form of a ledger's records; an earlier one is refused
    words       closed lists that records of control hold and requests may ask for
    contents    what the readers share: typed contents, fills, endings
    decision    request, quote, intent, twins and seal of a decision
    forecast    snapshot, sampling request, captured rounds and forecast
    standing    where one decision and its order stand
    order       an order: announced, handed out, reported, ended
    cancel      a cancel that somebody asked for: the request, how it ended
    replace     a replace: the request, that it left, how it ended
    verdict     the verdict, and a person's answer to a held one
    session     a FIX session: inbound messages, anomalies, sequence resets
    foreign     orders at the broker that are not ours
    run         a run: opening, model, marks, end; readers of the log's upkeep
    persons     names out of broker messages, into personal fields
    control/    records about control: stops, differences, access
"""
