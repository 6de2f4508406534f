"""`run`: sessions played in paper mode, the demo agent, the summary.

Not here: anything that `serve` needs.

    play             the verb `run`: sessions played, summarised, verified, then served
    summary          the run in numbers, computed from the ledger's records alone
    rolling          how well an account kept its volatility target, in rolling windows
    acceptance_rate  how many of four drafts the target accepts
    demo_agent       a labelled agent that misbehaves
"""
