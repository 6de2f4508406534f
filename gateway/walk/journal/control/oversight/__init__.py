"""Records for those who watch over the desk.

Not here: what is watched (`gateway.telemetry`, `gateway.evidence`).

    alarm  alarms that reached nobody
    reviews  samples of blind reviews, and the answers
    overrides  exceptional overrides, and which of them may act
    annotations  what persons remark about decisions
    scores  forecasts against what came
    cases  cases about patterns of conduct, in streams that only reviewers are shown
"""
