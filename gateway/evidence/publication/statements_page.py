"""The page of the statements that verifiers judge, and of the fields that none judges."""

from collections.abc import Iterator, Mapping

from audit.records.kinds import KINDS, KindSpec, StreamClass
from audit.verifier.verify import STATEMENTS

HEAD = """\
# What the verifiers compare

Written by `make docs` from `audit/verifier/parts/contents/statements/table.py`; do not edit. Both
verifiers, `verify.py` and `verify.mjs`, judge these statements, of a dump and of a bundle. A
finding begins with the name of its statement and names the record. The records alone show most of
them. Who signed is checked with both officers' keys (`--officer`), which come from outside;
without them the report says how many records were not checked.
"""
UNJUDGED = """
## Not judged

Fields that no statement compares with anything. Their bytes are what was signed; whether they are
true is for a replay (`countersign replay`), or rests on who wrote them.
"""

_OF_STREAMS = {StreamClass.DECISION: "decision", StreamClass.FORECAST: "forecast"}
"""How the table names every kind of a stream."""
_OF_RESULTS = "limit note observed reason scope unit version"
_OF_MESSAGES = "10 1724 21 2376 2593 2594 2595 34 447 448 452 453 49 528 56 60 8 9"
_OF_FIELDS = "1724 21 2376 2593 2594 2595 447 448 452 453 528 60"
WITHIN: Mapping[str, Mapping[str, str]] = {
    "forecast_made": {
        "forecast": "as_of_us bar_us capture_digest expected_1e8 horizon horizon_vol_1e8"
        " interval_high_1e8 interval_low_1e8 levels_bp n_dropped n_paths p_up_bp quantiles_1e8"
        " step_vol_1e8"
    },
    "intent_proposed": {
        "intent": "directional limit_ticks qty_lots side strategy target_exposure_bp tif",
        "paths": "digest n_paths",
    },
    "placebo_judged": {"paths": "digest n_paths"},
    "gjr_judged": {"paths": "digest n_paths"},
    "verdict_given": {
        "policy_status": "checked_at_us signed_by",
        "verdict": "digest_version state_digest verdict_digest",
        "verdict.results": _OF_RESULTS,
    },
    "order_sending": {"fields": _OF_FIELDS},
    "order_sent": {"raw": _OF_MESSAGES},
    "order_reported": {"report": "fees reject_reason text transact_time"},
    "approval_given": {"shown": "sheet_digest"},
    "replace_requested": {
        "judged": "basis_seq kill_epoch market_now_us narrative_as_of_us policy_status quote"
        " renewal state",
        "judged.verdict": "digest_version state_digest verdict_digest",
        "judged.verdict.results": _OF_RESULTS,
    },
    "replace_sent": {"raw": f"{_OF_MESSAGES} 15"},
}
"""Fields inside a field of which a statement judges other parts."""


def statements_page() -> str:
    """Return the page: each statement with its fields, then the fields that none judges."""
    rows = ["", "| statement | what must be true | judged fields |", "|---|---|---|"]
    for one in STATEMENTS:
        where = "; ".join(
            f"`{kind}`: {_listed(fields)}" for kind, fields in one.judges.items() if fields
        )
        for name in _OF_STREAMS.values():
            where = where.replace(f"`{name}`", f"of a {name}")
        rows.append(f"| `{one.id}` | {one.says} | {where} |")
    lines = [
        HEAD.rstrip("\n"),
        *rows,
        UNJUDGED.rstrip("\n"),
        "",
        "| kind | not judged |",
        "|---|---|",
    ]
    for spec in KINDS.values():
        left = ", ".join(f"`{name}`" for name in unjudged(spec))
        lines.append(f"| `{spec.kind}` | {left or 'none'} |")
    return "\n".join([*lines, ""])


def judged(spec: KindSpec) -> Iterator[str]:
    """Yield the dotted paths of a kind's fields that statements judge."""
    kinds = {"*", str(spec.kind), _OF_STREAMS.get(spec.stream, "*")}
    for one in STATEMENTS:
        for kind in kinds & one.judges.keys():
            yield from one.judges[kind].split()


def unjudged(spec: KindSpec) -> list[str]:
    """Return the fields of a kind of which no statement judges any part, dotted inside others."""
    named = {path.partition(".")[0] for path in judged(spec)}
    within = WITHIN.get(str(spec.kind), {})
    inner = (f"{outer}.{name}" for outer, names in within.items() for name in names.split())
    return sorted({*((spec.fields | spec.optional) - named), *inner})


def _listed(fields: str) -> str:
    return ", ".join(f"`{name}`" for name in fields.split())
