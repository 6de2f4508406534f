"""The log for outsiders: what is shown, mirrored, and under which witness policy.

Not here: the witness server.

    mirror_check  a mirror of the log held against the log: which of its files are not what was
                  signed
    mirror        the log as static files: `countersign tiles DIR`, the layout of tlog-tiles
    policy        the quorum policy of an installation: a tlog-policy file that the operator names
    published     the log as an outsider reads it
"""
