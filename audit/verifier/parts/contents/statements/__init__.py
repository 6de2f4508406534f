"""What must be true of records: one table, judged record by record.

    signed_kinds  what both officers sign of a record, written from the kinds
    table      the statements: name, sentence, judged fields
    checks     the checks of the rules, written from them
    messages   what a broker's message says of a trade
    positions  how many lots each account holds
    attempts   what earlier records said of forecasts
    seen       what earlier records said
    verdicts   what was judged: intents, verdicts, what a person agreed to
    forecasts  what a forecast rests on, and which one a decision names
    listings   the index of an instrument, and whether the forecast named stood
    joint      what joint paths are joined from, and which ones a decision names
    orders     what left and what came back
    governing  what officers said
    adjustments  what adjustments of a book do
    judging    all of it

Not here: statements that have a class of their own (`contents`).
"""
