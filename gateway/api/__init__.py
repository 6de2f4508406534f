"""The HTTP API, in reading order.

- models: request and response bodies, strict
- bodies: JSON read strictly: no key twice
- access: bearer keys to callers, and which role may do what
- limits: how much a caller may take: bytes of a body, threads of a kill
- routes: the application and the table from error code to HTTP status
- intents: POST /v1/intents
- decisions: GET /v1/decisions/{id}, POST /v1/decisions/{id}/approval
- kill: POST /v1/kill, POST /v1/kill/release
- differences: GET /v1/differences, POST /v1/differences/{seq}/resolve
- log: GET /log/checkpoint, /log/tile/...
- privacy: POST /v1/privacy/erase, hold, release-hold, disclose
- health: liveness and readiness
"""
