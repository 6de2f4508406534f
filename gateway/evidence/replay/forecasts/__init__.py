"""Replay of a forecast, from the records of its own stream.

Not here: which forecast a decision rests on (`replay.taken`).

past      one attempt's records, run and policy, and what they recomputed to
planning  what it asks: the checkpoint of its seeds, its mode, its number of paths
forecast  snapshot, request, rounds, forecast, twins, seal
again     forecasts that were replayed, each once
"""
