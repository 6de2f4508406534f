"""The log for outsiders.

Not here: the witness server.

    proof         `receipt` and `prove`: evidence in one small file
    receipts      `verify-receipt`: an answer against its signature and the ledger
    mirror_check  which files of a mirror are not what was signed
    mirror        the log as static files (`countersign tiles DIR`)
    policy        the installation's witness policy
    assessment    `assess`: the yearly self-assessment, each sentence with its records
    statements_page  the page of what verifiers compare
    published     checkpoint, tiles and bundles as outsiders read them
"""
