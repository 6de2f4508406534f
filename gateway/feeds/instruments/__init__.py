"""Reference data: a table of instruments, TOML or CSV, to typed listings.

Every fault of a table is reported at once, with line and column. Not here: the record of a listing
(`walk/journal/run`), calendars, prices.

    codes    ISIN, FIGI, MIC and ISO 4217: form, check digits, minor units
    fields   the columns of a table: what each may hold, and what to write instead
    places   where each value of a table stands
    table    a table's bytes to listings, or all its faults
    fit      whether listings fit the policy, the broker's profile and the ledger

`played.toml` is the playback's table; `example.toml` is the one that errors and help show.
"""
