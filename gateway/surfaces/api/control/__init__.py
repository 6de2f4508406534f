"""Routes of operators and officers that are no act of the table: asked in a form of their own.

Not here: what agents and feeds ask, acts (`gateway.acts`).

    kill         POST /v1/kill, /v1/kill/drill, /v1/kill/release: works without the ledger
    backfill     POST /v1/market/backfill: items of a file
    flow         GET /v1/flow: refusals and times of a range of days
    scores       GET /v1/scores: how forecasts did
    engine_adds  GET /v1/engine-adds: an account against its GJR twin
"""
