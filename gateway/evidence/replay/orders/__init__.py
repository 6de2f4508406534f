"""Replay of what happened to one order after its verdict.

Not here: the verdict itself (`replay.intent`).

order    announcement, message, reports, seal
cancel   a cancel that somebody asked for: the request, how it ended
replace  a replace: the request, its verdict, the message, how it ended
"""
