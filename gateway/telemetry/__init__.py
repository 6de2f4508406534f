"""What operators see and may lose: spans and console lines.

Not here: evidence, payloads, prompt text, keys.

    spans    OpenTelemetry set-up
    console  what the operator sees: lines, one moving line, one table
"""
