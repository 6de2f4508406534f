"""Routes of oversight: what many days or many records show, and what persons make of it.

Not here: what stops or changes something at once (`control`).

fairness     GET and POST /v1/fairness, GET and POST /v1/fairness/justifications
cases        GET /v1/cases, POST /v1/cases/{case_id}/notes and /state
reviews      GET and POST /v1/reviews, POST /v1/reviews/{seq}/answers/{decision_id}
publications GET and POST /v1/publications
scores       GET /v1/scores: how forecasts did
engine_adds  GET /v1/engine-adds: what the engine adds to GJR
flow         refusals and times of a range of days
"""
