"""Forecasts: a snapshot in, an integer forecast with its evidence out.

Reading order: snapshot, volatility, bins, vocabulary, narrative, prompt, codec, seeds, engine,
drafters, engine_main, vllm_engine, sampling_fix, capture_adapter, rounds, trajectory, forecast,
placebo, registry, errors; training/ makes the weights in models/.
"""
