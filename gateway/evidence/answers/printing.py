"""Answers as text or JSON on standard output."""

import json
import sys

from audit.store.reader import LedgerReader
from gateway.evidence.answers.days import FlowDays, FlowReport


def print_flow(reader: LedgerReader, first: str, last: str, *, as_json: bool) -> int:
    """Print the flow of a range of days; return 0.

    Raises:
        RequestError: a day is not a date, or they are in the wrong order.
    """
    report = FlowDays(lambda: reader).between(first, last)
    said = json.dumps(report.document(), indent=2) if as_json else flow_text(report)
    sys.stdout.write(f"{said}\n")
    return 0


def flow_text(report: FlowReport) -> str:
    """Return the flow for a person."""
    verdicts = ", ".join(f"{n} {result}" for result, n in report.verdicts) or "none"
    lines = [
        f"{report.first} to {report.last}, UTC days; the log has {report.size} records",
        f"verdicts: {verdicts}",
        "refused or held (one verdict counts under every rule that did not let it pass):",
    ]
    for line in report.refusals:
        group = line.group
        who = f"{group.rule} {line.title}" if group.rule else group.by
        said = f"{group.action:8}  {group.reason}  ({who}, newest record {line.newest_seq})"
        lines.append(f"  {line.count:6}  {said}")
    if not report.refusals:
        lines.append("  nothing")
    lines.append("times in ms, of the gateway's wall clock (cases, p50, p90, p99):")
    for leg in report.legs:
        shown = "".join(
            f"{'-' if us is None else f'{us / 1000:.3f}':>13}"
            for us in (leg.p50_us, leg.p90_us, leg.p99_us)
        )
        lines.append(f"  {leg.leg:22}{leg.count:7}{shown}  {leg.said}")
    return "\n".join(lines)
