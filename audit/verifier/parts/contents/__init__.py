"""What records say, judged by what else is known; the log's form is judged elsewhere.

    seeds  which root a forecast's seeds come from
    fills  the orders and fills on record, against the broker's own file

Not here: reading the broker's file (`trust.brokerfile`), the place of a record (`records`).
"""
