"""Spans, console lines and the state of the FIX session for operators; they may be lost.

Not here: evidence, payloads, prompt text, keys.

    spans    OpenTelemetry set-up
    session  the FIX session as persons and monitors see it
    metrics  figures for Prometheus
    alarms/  what operators must hear of, and the webhook that tells them
    console  console output: lines, one progress line, one table
"""
