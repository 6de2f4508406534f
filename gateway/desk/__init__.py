"""What a caller may ask of the walk, in the caller's words.

Not here: transport, HTML, the walk's own order.

    bodies/     what callers say and are answered: strict, closed, with units
    intake/     what comes in: intents and their scope, news and bars, reads, answers
    holds/      orders that wait for a person
    controls/   the kill, cancels and replaces, turns, statements that people sign
    parts       the parts that a desk works with
    desk        the requests of the API, the pages and the playback, each a few calls to the walk
    agents/     what agents ask beside an intent: baskets, splits, events
    officers/   what operators, approvers and officers may ask
    signing     what both officers sign of an act, and their signatures
    performing  what each act of the table does, by its name
"""
