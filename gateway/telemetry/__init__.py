"""Spans and console lines for operators; they may be lost.

Not here: evidence, payloads, prompt text, keys.

    spans    OpenTelemetry set-up
    console  console output: lines, one progress line, one table
"""
