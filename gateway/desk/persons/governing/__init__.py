"""What officers set for the whole desk, and when it begins.

Not here: one order's approval (`checkpoint`), stops and kill.

    modes     which mode may begin, and what it needs
    turns     decisions under way, and the moment without any
    trials    drafts tried on recorded cases, for both officers to sign
    overrides  one limit lifted once, signed by both officers
    policies  a signed policy that follows the one in force, without a restart
"""
