"""Alarms: what operators must hear of, and the webhook that tells them.

Not here: evidence (an alarm repeats what records say), the figures of `/metrics` (`telemetry`).

    catalogue  every alarm, and how long its condition must hold
    watch      a thread that raises and clears alarms
    webhook    delivery: signed, repeated until it is taken, never waited for
    alarms     both, for one gateway
"""
