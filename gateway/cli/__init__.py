"""The `countersign` command: application, exit codes, standard output.

Not here: what a verb does.

    place   the installation that a verb works on: its settings, its ledger
    output  standard output that notices when it is lost: an unread verdict is not a verdict
    binder  the acts of the table as verbs
    lines   an answer of the gateway as lines
    main    the `countersign` command: verbs from the group modules, errors as one line on stderr
    evaluation  forecasts judged on a folder of series: asked, printed, written
    verbs/  names, options and help of the verbs
"""
