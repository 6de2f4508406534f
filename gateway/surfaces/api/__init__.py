"""JSON over HTTP, one module per resource.

Not here: HTML, request models.

    app          the application and the table from error code to HTTP status
    binder       the acts of the table as routes
    bodies       strict JSON bodies: no key twice
    intents      POST /v1/intents and /v1/baskets
    orders       GET /v1/orders, GET /v1/orders/{name}, POST /v1/orders/{name}/cancel
    events       GET /v1/events
    market       POST /v1/market/quotes, /v1/market/bars
    decisions    GET /v1/decisions/{id}, POST /v1/decisions/{id}/approval
    privacy      POST /v1/privacy/erase, hold, release-hold, disclose
    log          GET /log/checkpoint, /log/tile/
    health       liveness and readiness
    metrics      GET /metrics
    control/     the routes of operators and officers
"""
