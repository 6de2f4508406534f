"""The `countersign` command: application, exit codes, standard output.

Not here: what a verb does.

    place   the installation that a verb works on: its settings, its ledger
    output  standard output that knows when it was lost: a verdict that nobody heard is none
    main    the `countersign` command: verbs from the group modules, errors as one line on stderr
    verbs/  names, options and help of the verbs
"""
