"""What persons ask of many records at once: supervisors, auditors, the desk itself.

Not here: one decision (`explanation`), tests of groups (`fairness/`), printing of pages.

    flow       what was refused or held and why, and how long each part of the way took: the fold
    days       the flow of a range of days, kept up as the log grows
    patterns   records of orders to the events that patterns of conduct read
    outcomes   forecasts against what came: which are due, their scores, what all say
    engine_adds  an account less its GJR twin in columns, and the decisions that differ
    answer     a fact with the record that proves it
    governance answers about limits, changes, drills, deletions, access
    policy_trial  the newest decisions judged again under a draft of a policy
    would_pass the minimal edit of a recorded intent, from a replay
    trades     answers about refusals, approvals, models, words, orders
    questions  a supervisor's twelve questions, each with its command: docs/supervisor.md
    printing   the flow as text or JSON
"""
