"""Write the documents that repeat the code: settings, kinds, access, rules, policy, simulator.

`make docs` writes them; `--check` (run by the tests) only names the outdated ones.

Not here: prose, and measured figures, which come from runs.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from audit.records.kinds import KINDS, KindSpec
from fix.simulator.acts import ACTS, MANNERS, MARKET_ACTS, OUTCOMES, SESSION_ACTS
from fix.simulator.market import DECK, outcome_of
from gateway.clock import wall_us
from gateway.evidence.answers.questions import supervisor_page
from gateway.evidence.publication.statements_page import statements_page
from gateway.installation.keys.roles import Role
from gateway.installation.policies.classes import STARTS
from gateway.installation.policies.pack_page import packs_page
from gateway.installation.policies.rule_list import rule_lines
from gateway.installation.settings import PREFIX, Settings, SimulatorSettings
from gateway.surfaces.access.refusals import Refusals
from gateway.surfaces.route_table import AccessRow, access_rows
from gateway.surfaces.server import build_site
from gateway.surfaces.web.doors import Entrance
from gateway.surfaces.web.forms import FormGuard
from gateway.surfaces.web.views.lists import Views
from gateway.telemetry.alarms.catalogue import MEANING
from gateway.telemetry.metrics import METRICS
from risk.rules.catalogue import IN_VERDICTS, RULES
from risk.rules.rule import Rule

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ROOT / "docs" / "settings.md"
RECORDS = ROOT / "docs" / "records.md"
STATEMENTS_PAGE = ROOT / "docs" / "statements.md"
RULES_PAGE = ROOT / "docs" / "rules.md"
POLICY_PAGE = ROOT / "docs" / "policy.md"
PACKS = ROOT / "docs" / "packs.md"
ACCESS = ROOT / "docs" / "access.md"
DECISIONS = ROOT / "docs" / "decisions"
METRICS_PAGE = ROOT / "docs" / "metrics.md"
SUPERVISOR = ROOT / "docs" / "supervisor.md"
SIMULATOR = ROOT / "docs" / "measured" / "simulator.md"
SHOWN = 100
WIDTH = 118
DESK = ROOT / "risk" / "policy" / "policies" / "desk.json"


def prose(text: str) -> list[str]:
    """Return a paragraph as lines."""
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def default_of(info: FieldInfo) -> str:
    """Return a setting's default as it is typed, with paths relative to the checkout."""
    default = info.default
    if default is None:
        return "none"
    if default == "":
        return "empty"
    if isinstance(default, Path) and default.is_relative_to(ROOT):
        default = default.relative_to(ROOT)
    return f"`{default}`"


def settings_rows(model: type[BaseModel], prefix: str) -> list[str]:
    """Return the table rows of one settings section, without the sections inside it."""
    return [
        f"| `{prefix}{name}`".upper() + f" | {default_of(info)} | {info.description} |"
        for name, info in model.model_fields.items()
        if section_of(info) is None
    ]


def section_of(info: FieldInfo) -> type[BaseModel] | None:
    """Return the settings section that a field holds, or None for a plain setting."""
    inner = info.annotation
    return inner if isinstance(inner, type) and issubclass(inner, BaseModel) else None


def settings_page() -> str:
    """Return the page of settings, with a table for each section."""
    head = [
        "# Settings",
        "",
        *prose(
            "Written by `make docs` from the settings model; do not edit. `countersign"
            " settings` lists the same variables."
        ),
        "",
        *prose(
            "A setting is an environment variable, or a line of the settings file: the one that"
            " `COUNTERSIGN_CONFIG` names, else `countersign.toml` in the current folder. There"
            " `COUNTERSIGN_FIX__PORT` is `port` in the table `[fix]`, and a relative path starts"
            " at the file's folder. The environment wins. `countersign settings --values` shows"
            " what is set, and where."
        ),
        "",
        *prose(
            "An unknown name, with the prefix or in the file, stops the start, so a mistyped name"
            " is never ignored. An empty variable counts as unset. `run` has development"
            " defaults for all settings; `serve` has no default for database, keys, broker port"
            " and instruments."
        ),
    ]
    sections: list[tuple[str, type[BaseModel], str]] = [("General", Settings, PREFIX)]
    for name, info in Settings.model_fields.items():
        if (inner := section_of(info)) is not None:
            title = (inner.__doc__ or name).partition("\n")[0].partition(";")[0].rstrip(".")
            sections.append((title, inner, f"{PREFIX}{name}__"))
    for title, model, prefix in sections:
        head += ["", f"## {title}", "", "| variable | default | meaning |", "|---|---|---|"]
        head += settings_rows(model, prefix)
    return "\n".join([*head, ""])


def kind_row(spec: KindSpec) -> str:
    """Return the table row of one record kind."""
    stream = spec.stream.value + ("…" if spec.stream.value.endswith("/") else "")
    moves = "every account" if spec.firm_wide else "its account" if spec.section else ""
    fields = ", ".join(f"`{field}`" for field in sorted(spec.fields))
    optional = ", ".join(f"`{field}`" for field in sorted(spec.optional))
    return f"| `{spec.kind}` | {spec.version} | {stream} | {fields} | {optional} | {moves} |"


def records_page() -> str:
    """Return the page of record kinds, in the order of the journal."""
    specs = tuple(KINDS.values())
    head = [
        "# Record kinds",
        "",
        *prose(
            "Written by `make kinds` from the kinds' classes, in the order of the journal; do not"
            " edit. A payload has every field of its kind, may have the optional ones, and has"
            " no other. *Guard*: the record changes what rules read, for its own account or for"
            " every account; a verdict computed before such a record is computed again."
        ),
        "",
        "| kind | version | stream | fields | optional | guard |",
        "|---|---|---|---|---|---|",
    ]
    return "\n".join([*head, *(kind_row(spec) for spec in specs), ""])


def access_row(row: AccessRow) -> str:
    """Return the table row of one route."""
    roles = " | ".join(row.roles[role] for role in Role)
    return (
        f"| {row.method} | `{row.path}` | {row.way} | {row.action or '–'} | {row.nobody} | {roles}"
        f" | {row.noted} |"
    )


def access_page() -> str:
    """Return who may do what at each route of the gateway's site."""
    nothing: Any = None  # only the routes' doors are read; nothing is served
    counts = Refusals(nothing, wall_us)
    doors = Entrance(keyring=nothing, sessions=nothing, refusals=counts, guard=FormGuard(b""))
    rows = access_rows(build_site(nothing, nothing, Views(nothing), entrance=doors))
    head = [
        "# Who may do what",
        "",
        *prose(
            "Written by `make docs` from the routes of the site and"
            " `gateway/installation/keys/roles.py`; do not edit. A test asks every route of a"
            " running site without a key, with each role's key and with each role's session, and"
            " compares. The gateway does not start with a route that checks no access."
        ),
        "",
        *prose(
            "*in* means that the caller is let in, whatever the answer is. A number is the status"
            " of the refusal (303: redirected to the sign-in page). A session opens no route of"
            " the API; an agent's key opens no page. A read goes on record before it is shown,"
            " once for each person, object and minute. A refusal is counted, with one record for"
            " each minute, caller and reason. If a route asks for nothing, the last column says"
            " why. With `COUNTERSIGN_LEDGER__TILES=public` the routes below `/log` ask for"
            " nothing either, and nothing is recorded."
        ),
        "",
        f"| method | route | asks for | action | nobody | {' | '.join(Role)} | recorded as |",
        "|---" * (6 + len(Role)) + "|",
    ]
    return "\n".join([*head, *(access_row(row) for row in rows), ""])


def rule_row(rule: Rule) -> str:
    """Return the table row of one rule."""
    checks = "; ".join(f"{check.name} ({check.unit}, {check.scope})" for check in rule.checks)
    return f"| {rule.rule_id} | {rule.version} | {rule.title} | {checks} |"


def stated(node: Any, path: str) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    """Yield one table row for every number in a policy, with its owner and rationale."""
    if isinstance(node, dict):
        if "rationale" in node:
            number = f"{node['value']:,} {node['unit']}"
            yield f"| `{path}` | {number} | {node['owner']} | {node['rationale']} |"
            return
        for key, inner in node.items():
            yield from stated(inner, f"{path}.{key}" if path else key)
    elif isinstance(node, list):
        for inner in node:
            if isinstance(inner, dict):
                name = inner.get("symbol") or inner.get("asset_class")
                yield from stated(inner, f"{path}.{name}")


def rules_page() -> str:
    """Return the page of every rule: definition, checks, and the numbers of the desk's policy."""
    desk = json.loads(DESK.read_text())
    disarmed = {
        one["rule"]: one["reason"] for one in desk["classes"][0]["arming"] if not one["armed"]
    }
    lines = [
        "# The rules",
        "",
        *prose(
            "Written by `make docs` from `risk/rules/` and the desk's policy of format 2; do not"
            " edit. `countersign rules` prints the same. Every rule runs on every intent, in this"
            " order; the verdict is the strictest action of all. All values are integers. A check"
            " passes at its limit and breaks by one unit above it (below it for a minimum). An"
            " armed rule refuses if an input is missing, no integer or out of range. A result has"
            " its margin: how far inside or outside the limit the value is."
        ),
        "",
    ]
    lines += rule_lines(IN_VERDICTS, disarmed)
    head = [
        "## Defaults of the families",
        "",
        "| number | value | owner | why |",
        "|---|---|---|---|",
    ]
    return "\n".join([*lines, *head, *stated(desk["families"], "families"), ""])


def policy_page() -> str:
    """Return the page of rules and of the shipped policy's numbers."""
    head = [
        "# Rules and the shipped policy",
        "",
        *prose(
            "Written by `make docs` from `risk/rules/catalogue.py` and the policy file; do"
            " not edit. Every rule of the policy's format runs on every intent, in this order. The"
            " verdict is the strictest action of all. Definitions: [rules.md](rules.md)."
        ),
        "",
        "| rule | version | title | measures (unit, scope) |",
        "|---|---|---|---|",
        *(rule_row(rule) for rule in RULES),
        "",
        "## What a draft starts with",
        "",
        *prose(
            "`countersign init` and `policy new --instruments` write a section for each asset class"
            " of the table. R46 is not armed in any, and R43 only once quotes carry the day's"
            " volume. Without `margin_bp` for every instrument R23 is not armed."
        ),
        "",
        (
            "| class | collar, bp | volatility that backs no direction, % a year | without `sector`"
            " R10 is not armed | without `adv_lots` R15 is not armed | why this collar |"
        ),
        "|---|---|---|---|---|---|",
        *(
            f"| {name} | {one.collar_bp} | {one.volatility_pct} | {one.no_sector} |"
            f" {one.no_volume} | {one.collar_why} |"
            for name, one in STARTS.items()
        ),
        "",
        "## The numbers of the shipped policy",
        "",
        "| number | value | owner | why |",
        "|---|---|---|---|",
    ]
    return "\n".join([*head, *stated(json.loads(DESK.read_text()), ""), ""])


def simulator_page() -> str:
    """Return the page of the simulator's outcomes under the default seed."""
    seed = str(SimulatorSettings().seed)
    blocks = range(0, SHOWN, len(DECK))
    rows = [
        f"| {first} | " + " | ".join(outcome_of(seed, first + n) for n in range(len(DECK))) + " |"
        for first in blocks
    ]
    deck = Counter(DECK)
    dealt = [f"| `{name}` | {deck.get(name) or '–'} | {what} |" for name, what in OUTCOMES.items()]
    head = [
        "# What the simulator plays",
        "",
        *prose(
            "Written by `make docs` from `fix/simulator/acts.py` and `fix/simulator/market.py`; do"
            " not edit. A test or a person plays the broker while it runs:"
            " `python -m fix.simulator.play FOLDER WHAT` (the folder is `state/ems` under"
            " `countersign run`; `--help` shows examples)."
        ),
        "",
        "## What becomes of a new order",
        "",
        *prose(
            "Of ten orders, so many get each outcome by the published table; any outcome can be"
            " dealt (`deal`) or scripted (`--script`)."
        ),
        "",
        "| outcome | of ten | what happens |",
        "|---|---|---|",
        *dealt,
        "",
        *_table("How cancels and replaces are answered (`cancels`, `replaces`)", MANNERS.items()),
        *_table("What may be done to one order", ACTS.items()),
        *_table("What may be done to the session", SESSION_ACTS.items()),
        *_table("What may be done to the market data", MARKET_ACTS.items()),
        *prose(
            "Market data need `--market-target COMPID`: a second session, on the same port, answers"
            " 35=V with a snapshot (W), then changes (X) every `--tick-ms`, or Y (281=0) for a"
            " symbol without a price. Prices are those of `--prices FILE` one after the other, or"
            " the playback's (`--quotes`) of the current session."
        ),
        "",
        "## The published table",
        "",
        *prose(
            f"The outcomes of the first {SHOWN} orders that the simulated broker gets under the"
            f" default seed `{seed}` (`COUNTERSIGN_SIMULATOR__SEED`), counted from 0 as they"
            " arrive. The gateway cannot see it."
        ),
        "",
        "| from | " + " | ".join(f"+{n}" for n in range(len(DECK))) + " |",
        "|---" * (len(DECK) + 1) + "|",
    ]
    return "\n".join([*head, *rows, ""])


def _table(title: str, rows: Iterable[tuple[str, str]]) -> list[str]:
    lines = [f"| `{name}` | {what} |" for name, what in rows]
    return [f"## {title}", "", "| word | what happens |", "|---|---|", *lines, ""]


def metrics_page() -> str:
    """Return the page of the figures for Prometheus."""
    head = [
        "# Metrics",
        "",
        *prose(
            "Written by `make docs` from `gateway/telemetry/metrics.py`; do not edit. `GET"
            " /metrics` has these figures in Prometheus' text format, for a key of the role"
            " `monitor`. Counts begin again with each start; the ledger has what must not be lost."
        ),
        "",
        "| metric | kind | labels | meaning |",
        "|---|---|---|---|",
    ]
    rows = [
        f"| `{name}` | {one.kind} | {', '.join(one.labels)} | {one.help} |"
        for name, one in METRICS.items()
    ]
    alarms = ["", "## Alarms", "", "| alarm | raised while | held for |", "|---|---|---|"]
    named = [
        f"| `{alarm}` | {text} | {f'{after:g} s' if after else ''} |"
        for alarm, (text, after) in MEANING.items()
    ]
    return "\n".join([*head, *rows, *alarms, *named, ""])


def decisions_page() -> str:
    """Return the index of the decisions, each with the later ones that its page names."""
    pages = sorted(DECISIONS.glob("[0-9]*.md"))
    names = {page.name[:3]: page.name for page in pages}
    head = [
        "# Decisions",
        "",
        *prose(
            "Written by `make docs` from the pages; do not edit. One page each: context, choice,"
            " cost, by number. *changed by* names the later decisions that its page points to; one"
            " without stands as it was made."
        ),
        "",
    ]
    return "\n".join([*head, *(_decision(page, names) for page in pages), ""])


def _decision(page: Path, names: Mapping[str, str]) -> str:
    text = page.read_text("utf-8")
    number, _, title = text.partition("\n")[0].removeprefix("# ").partition(": ")
    named = {"".join(found) for found in re.findall(r"\[(\d{3})\]\(|decision (\d{3})", text)}
    later = ", ".join(f"[{one}]({names[one]})" for one in sorted(named) if number < one in names)
    return f"- [{number}]({page.name}): {title}" + (f"; changed by {later}" if later else "")


def wanted() -> dict[Path, str]:
    """Return the text that every generated document should have."""
    return {
        SETTINGS: settings_page(),
        RECORDS: records_page(),
        STATEMENTS_PAGE: statements_page(),
        ACCESS: access_page(),
        RULES_PAGE: rules_page(),
        POLICY_PAGE: policy_page(),
        PACKS: packs_page(),
        METRICS_PAGE: metrics_page(),
        DECISIONS / "README.md": decisions_page(),
        SUPERVISOR: supervisor_page(),
        SIMULATOR: simulator_page(),
    }


def main() -> int:
    """Write or check; return 1 if a check finds an outdated document."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="only name outdated documents")
    check = parser.parse_args().check
    stale = [
        path for path, text in wanted().items() if not path.is_file() or path.read_text() != text
    ]
    for path in stale:
        print(f"{'out of date' if check else 'written'}: {path.relative_to(ROOT)}")
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(wanted()[path])
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
