"""Routes of operators and officers, one module per resource.

Not here: what agents and feeds ask.

    kill         POST /v1/kill, POST /v1/kill/release
    stops        GET /v1/stops, POST /v1/stops/...
    overrides    GET and POST /v1/overrides, POST /v1/overrides/{override_id}/withdraw
    differences  GET /v1/differences, POST /v1/differences/{seq}/resolve
    backfill     POST /v1/market/backfill
    adjustments  GET and POST /v1/adjustments
    oversight/   fairness, cases, reviews, scores, own publications, figures of days
    policies     GET /v1/policy, POST /v1/policy/follow
"""
