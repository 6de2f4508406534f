"""Forecasts: a snapshot in, an integer forecast with its evidence out.

Reading order: snapshot, volatility, bins, vocabulary, narrative, prompt, codec, seeds, drafters,
engine, engine_main, frames, flight, vllm_engine, sampling_fix, capture_adapter, capture, self_test,
rounds, evidence, condense, evidence_bytes, trajectory, forecast, placebo, registry, teacher,
regeneration, errors. ``training/`` makes the weights in
``models/``.
"""
