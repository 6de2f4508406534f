"""Making the weights in `models/`.

Not here: serving.

    phases       the phases behind the command: train, distil, evaluate
    data/        series, synthetic series, batches
    network/     the network and its files
    train        the training loop of the target
    distil       the target's two drafters: a one-layer network and a table
    recorded     a new table for a pair, from tokens that a ledger kept
    evaluation/  scores and the model card
    scaled/      pair v2: the table on the fitted scale
    judged/      pair v2 on 2016-2017, against one frozen baseline
    hearing/     pair v3: the same table as drafter, and a target that hears words
    hours/       pair v4: pair v3 with rows of hourly bars whose hours have their size
"""
