"""What those who watch over the desk put on record.

Not here: the tests and patterns themselves (`risk.windows`), reading them (`gateway.evidence`).

    criteria    criteria of fairness that both officers signed, and which count for a day
    fairness    runs of the tests of fairness
    reviews     blind reviews: a sample, judged without the model's answer
    swaps       runs of counterfactual swaps
    ending      how both officers end an act that was recorded by mistake
    justifications  the registry of justifications, signed by both officers
    publications  own publications, which keep the firm out of their instrument
    annotations  what persons remark about decisions
    case_files  the cases on record, and the draft of a report
    cases       notes on cases about conduct, and their states
"""
