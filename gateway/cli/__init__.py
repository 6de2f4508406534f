"""The command line, one module per verb group, in reading order.

A group declares its verbs: names, options, help. What a verb works with it imports when it runs, so
that help, and a mistyped option, answer at once; nothing slow is imported at the head of a module.

- place: the settings and the ledger that a verb works on
- output: standard output that knows when it was lost
- main: the application, and how errors become one clear line and an exit code
- running: run, serve
- checking: verify, dump, decisions, show, replay, export
- upkeep: fsck, backup, restore, migrate
- proving: receipt, prove
- publishing: witness, tiles
- stopping: kill, release
- differing: differences, resolve
- keys: keygen, settings
- privacy: erase, hold, release-hold, disclose
- training: train
"""
