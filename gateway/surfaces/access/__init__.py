"""Who is calling, and who was refused.

Not here: what a role's action does.

    bearer    bearer keys to callers, and which role may do what
    refusals  attempts refused at the door, on record
"""
