"""The command line, one module per verb group, in reading order.

- main: the application, and how errors become one clear line and an exit code
- running: run, serve
- checking: verify, dump, replay, export
- upkeep: fsck, backup, restore
- proving: receipt, prove
- publishing: witness, tiles
- stopping: kill, release
- keys: keygen, settings
- privacy: erase, hold, release-hold, disclose
- training: train
"""
