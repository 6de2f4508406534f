"""The report of a certification run as JSON, text and HTML; pure."""

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from fix.certification.cases import CaseOutcome, Tried

FORM: Final = "countersign certification 1"
_STYLE: Final = (
    "body{font:15px/1.5 sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid #ccc;padding:.4rem;"
    "text-align:left;vertical-align:top}.fail{color:#b00020;font-weight:bold}"
    "pre{white-space:pre-wrap;overflow-wrap:anywhere;font-size:12px}"
)


def passed(tried: Sequence[Tried]) -> bool:
    """Return whether no case failed."""
    return all(one.outcome is not CaseOutcome.FAIL for one in tried)


def counts(tried: Sequence[Tried]) -> str:
    """Return how many cases ended how."""
    numbers = {how: sum(one.outcome is how for one in tried) for how in CaseOutcome}
    return ", ".join(f"{number} {how.value}" for how, number in numbers.items())


def line_of(one: Tried) -> str:
    """Return a case as one line for people."""
    return f"{one.outcome.value:<15}{one.name:<24}{one.reason}"


def document(about: Mapping[str, object], tried: Sequence[Tried]) -> str:
    """Return the report as JSON; `about` says what was tried, when and with what."""
    cases = [
        {
            "name": one.name,
            "expected": one.expected,
            "outcome": one.outcome.value,
            "reason": one.reason,
            "seen": list(one.seen),
        }
        for one in tried
    ]
    report = {"form": FORM, **about, "passed": passed(tried), "cases": cases}
    return json.dumps(report, indent=1, ensure_ascii=True) + "\n"


def page(about: Mapping[str, object], tried: Sequence[Tried]) -> str:
    """Return the report as one HTML file that needs nothing else."""
    facts = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>"
        for name, value in about.items()
        if not isinstance(value, Mapping)
    )
    rows = "".join(_row(one) for one in tried)
    head = "<tr><th>Case</th><th>Expected</th><th>Outcome</th><th>Seen</th></tr>"
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>FIX certification</title>'
        f"<style>{_STYLE}</style><h1>FIX certification</h1><p>{escape(counts(tried))}</p>"
        f"<table>{facts}</table><h2>Cases</h2><table>{head}{rows}</table></html>\n"
    )


def _row(one: Tried) -> str:
    seen = escape("\n".join(one.seen))
    said = f"{escape(one.outcome.value)}<br>{escape(one.reason)}"
    return (
        f"<tr><td>{escape(one.name)}</td><td>{escape(one.expected)}</td>"
        f'<td class="{"fail" if one.outcome is CaseOutcome.FAIL else "good"}">{said}</td>'
        f"<td><pre>{seen}</pre></td></tr>"
    )
