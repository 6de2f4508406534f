"""Making the weights in `models/`: phases, training, distillation.

Not here: serving.

    data/        series, synthetic worlds, windows
    distil       from the target to its two drafters: a one-layer network and a conditional table
    evaluation/  scores and the model card
    network/     the network and its bytes
    phases       the phases behind the command: train, distil, evaluate, each from files to files
    train        the training loop of the target: resumable, interruptible, bounded by wall time
                 or steps
"""
