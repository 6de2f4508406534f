"""Spans, console lines and the state of the FIX session for operators; they may be lost.

Not here: evidence, payloads, prompt text, keys.

    spans    OpenTelemetry set-up
    session  the FIX session as persons and monitors see it
    console  console output: lines, one progress line, one table
"""
