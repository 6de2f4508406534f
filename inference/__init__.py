"""Forecasts: a snapshot in, an integer forecast with its evidence out.

Not here: rules and orders.

    snapshot      the forecast's input: bars and news of one instrument as of one time
    scale/        the causal volatility of a series: GARCH and GJR, fitted and run on
    codec/        snapshot to tokens and back
    speculation/  what was drafted, accepted, drawn and kept
    engine/       the Engine port, the engine's process, the only door to vLLM, drafters
    weights/      the model pair on disk, and its rows computed again
    forecast/     trajectories to a forecast
    training/     making the weights in `models/`
    errors        the package's errors
    build         the build of the engine child: its source and its libraries
"""
