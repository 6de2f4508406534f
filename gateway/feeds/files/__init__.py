"""Files and folders that `serve` follows as they grow, into the door that the API uses.

Not here: what is wrong with an item (`gateway.feeds.live.conditions`), records, the thread.

    state     where a file is read up to, and how it is
    sources   the TOML file that describes the sources
    dropped   the door to a drop folder: regular files of its owner, no links
    rows      a line of a file to an item as posted
    parquet   the door to Parquet: rows of a whole file as text
    reading   complete lines of a file behind a position, and whether it is the same file still
    following the followed source: lines to items, items to the door
"""
