"""Answers as text or JSON on standard output."""

import json
import sys

from audit.store.reader import LedgerReader
from gateway.evidence.answers.days import FlowDays, FlowReport
from gateway.evidence.answers.outcomes import Scores, scores_of, wrongly_scored


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


def print_scores(reader: LedgerReader, *, check: bool, as_json: bool) -> int:
    """Print the scores of forecasts; with `check` return 1 if one does not follow."""
    found = scores_of(reader)
    said = json.dumps(found.document(), indent=2) if as_json else scores_text(found)
    sys.stdout.write(f"{said}\n")
    if not check:
        return 0
    seen, wrong = wrongly_scored(reader)
    for seq in wrong:
        sys.stdout.write(f"DIFFERS record {seq}: not the score that follows from its forecast\n")
    sys.stdout.write(f"RECOMPUTED {seen - len(wrong)} of {seen} scores to the same bytes\n")
    return 1 if wrong else 0


def scores_text(found: Scores) -> str:
    """Return the scores for a person."""
    document = found.document()
    if not document["lines"]:
        return (
            "no forecast is scored yet: a later decision on the same instrument brings the bars,\n"
            "and the policy must be of format 2, under which paths are on record"
        )
    lines = ["instrument  bars ahead  scored  CRPS, bp of price  of the table's"]
    for one in document["lines"]:
        of_table = "-" if one["of_table_bp"] is None else f"{one['of_table_bp'] / 10_000:.4f}"
        lines.append(
            f"{one['instrument']:10}  {one['step']:10}  {one['scored']:6}"
            f"  {one['crps_1e8'] / 10_000:17.2f}  {of_table:>14}"
        )
    for model in document["models"]:
        tenths = " ".join(map(str, model["tenths"]))
        lines.append(
            f"model {model['model_digest'][:16]}: {model['scored']} first bars; ranks by tenth"
            f" {tenths};\n  evidence against even ranks {model['evidence_milli'] / 1_000:.3f}, at"
            f" most {model['peak_milli'] / 1_000:.3f} so far (20: drift); index"
            f" {model['shift_bp'] / 10_000:.4f}"
        )
    return "\n".join(lines)
