"""Routes of operators and officers, one module per resource.

Not here: what agents and feeds ask.

    kill         POST /v1/kill, POST /v1/kill/release
    stops        GET /v1/stops, POST /v1/stops/...
    overrides    GET and POST /v1/overrides, POST /v1/overrides/{override_id}/withdraw
    differences  GET /v1/differences, POST /v1/differences/{seq}/resolve
    backfill     POST /v1/market/backfill
    adjustments  GET and POST /v1/adjustments
    fairness     GET and POST /v1/fairness, GET and POST /v1/fairness/justifications
    cases        GET /v1/cases, POST /v1/cases/{case_id}/notes and /state
    reviews      GET and POST /v1/reviews, POST /v1/reviews/{seq}/answers/{decision_id}
    publications GET and POST /v1/publications
    scores       GET /v1/scores: how forecasts did
    engine_adds  GET /v1/engine-adds: what the engine adds to GJR
    flow         refusals and times of a range of days
    policies     GET /v1/policy, POST /v1/policy/follow
"""
