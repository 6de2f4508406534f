"""Records for those who watch over the desk.

Not here: what is watched (`gateway.telemetry`, `gateway.evidence`).

    alarm  alarms that reached nobody
    reviews  samples of blind reviews, and the answers
    overrides  exceptional overrides, and which of them may act
    annotations  what persons remark about decisions
    scores  forecasts against what came
    sampler  direct forecasts against the engine
    trials  recorded cases judged again under a draft of a policy
    cases  cases about patterns of conduct, in streams that only reviewers are shown
    swaps  runs of counterfactual swaps, and the shifts that rule R48 reads of them
    ends  what ends an act that was recorded by mistake
    justifications  the registry of the fairness gate, and what rule R48 reads
    publications  what the firm itself published, as rule R49 reads it
"""
