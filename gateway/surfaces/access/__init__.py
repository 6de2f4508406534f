"""Who is calling, and who was refused.

Not here: what a role's action does.

    bearer    from a bearer key to its caller, and whether its role may act
    refusals  refused attempts, counted and recorded
"""
