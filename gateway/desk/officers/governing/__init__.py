"""What officers set for the whole desk, and when it begins.

Not here: one order's approval (`desk.holds`), stops and kill.

    modes     which mode may begin, and what it needs
    trials    drafts tried on recorded cases, for both officers to sign
    overrides  one limit lifted once, signed by both officers
    policies  a signed policy that follows the one in force, without a restart
"""
