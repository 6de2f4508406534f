"""justify: the registry of economic reasons that the fairness gate accepts."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.place import ComplianceKeyOption, RiskKeyOption, StateOption, settings_of

_KEY = typer.Option("--as", help="name of your key in the key folder")


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    group = typer.Typer(
        name="justify",
        help="Justifications: why a proxy or region may move an order; both officers sign.",
        no_args_is_help=True,
    )
    group.command("list")(listed)
    group.command()(add)
    app.add_typer(group)


def listed(
    actor: Annotated[str, _KEY] = "auditor",
    state: StateOption = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """List the registered justifications, newest first, and whether each is in force.

    Example: countersign justify list
    """
    from gateway.launch.commands.oversight.justifications import list_justifications

    raise typer.Exit(list_justifications(settings_of(state), actor, as_json=as_json))


def add(
    file: Annotated[Path, typer.Argument(help="JSON with the entry's terms (docs/fairness.md)")],
    actor: Annotated[str, _KEY] = "operator",
    risk_key: RiskKeyOption = None,
    compliance_key: ComplianceKeyOption = None,
    state: StateOption = None,
) -> None:
    """Register a justification for 180 days at most; both officers' keys must sign its terms.

    Example: countersign justify add region-7.json
    """
    from gateway.launch.commands.oversight.justifications import add_justification

    keys = {"risk": risk_key, "compliance": compliance_key}
    raise typer.Exit(add_justification(settings_of(state), actor, file, keys))
