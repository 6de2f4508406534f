"""Forecasts: a snapshot in, an integer forecast with its evidence out.

Not here: rules and orders.

    snapshot      what the forecast may know: one instrument, its bars and its news, as of one
                  instant
    codec/        snapshot to tokens and back
    speculation/  what was drafted, accepted, drawn and kept
    engine/       the Engine port, the engine's process, vLLM behind one door, drafters
    weights/      the model pair on disk, and what it says when it is asked again
    forecast/     trajectories to a forecast
    training/     making the weights in `models/`: phases, training, distillation
    errors        errors of the forecast side of the walk
"""
