"""The parts of the outsider's verifier, which `make verifier` joins into one file, `../verify.py`.

A part imports the standard library, cryptography and the parts above it. Names are unique among
all parts, for in the one file they stand side by side. Nothing else imports a part: it would get
classes that are not those of `verify.py`.

    report     what was found: exit code, reason, lines for people
    canonical  canonical JSON, base64, hex and decimals
    tree       RFC 6962 hashes and trees, inclusion and consistency paths
    trust      keys, signed notes, the witness policy, checkpoints, the broker's file
    kinds      the names of the kinds, written from the table of kinds
    records    headers and payloads, streams, stream-head maps, disclosed values
    contents   what records say: seeds of forecasts, orders and the broker's fills
    log        a whole log, record by record
    dump       a log as JSON lines
    bundle     one decision as a ZIP
    proof      a C2SP tlog-proof of a record, a receipt or a range; a checkpoint alone
    tiles      a log as a folder of C2SP tlog-tiles
    command    the command line, and the first page of the built file

Not here: code that the ledger uses itself; it reads the same formats with code of its own.
"""
