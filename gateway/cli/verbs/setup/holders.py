"""key add, replace, revoke, list and replace-officer: who has a key."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.place import ComplianceKeyOption, RiskKeyOption, StateOption, settings_of
from gateway.installation.keys.roles import Role, SigningRole

NameArgument = Annotated[str, typer.Argument(help="whose key: a role or a code, no person's name")]
ScopeOption = Annotated[
    Path | None,
    typer.Option(help="TOML file: what an agent's key may ask for; docs/agents.md has one"),
]


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    group = typer.Typer(
        name="key",
        help="Give, replace and take away bearer keys; replace an officer's key.",
        no_args_is_help=True,
    )
    for verb in (add, replace, revoke, replace_officer):
        group.command()(verb)
    group.command(name="list")(list_holders)
    app.add_typer(group)


def add(
    name: NameArgument,
    role: Annotated[Role, typer.Option(help="what the key may do")] = Role.AGENT,
    scope: ScopeOption = None,
    state: StateOption = None,
) -> None:
    """Make a bearer key for a new name and print it once; also beside a running gateway.

    Example: countersign key add desk-2 --role agent --scope desk-2.toml
    """
    from gateway.installation.keys.keyring import Keyring
    from gateway.installation.state import StateFolder

    folder = StateFolder.of(settings_of(state)).keys
    typer.echo(Keyring.issue_in(folder, name, role, replace=False, scope=scope))


def replace(name: NameArgument, scope: ScopeOption = None, state: StateOption = None) -> None:
    """Give a name a new bearer key of the same role and print it once; the old one ends at once.

    An agent's scope stays as it is, unless --scope names another.

    Example: countersign key replace desk-2
    """
    from gateway.installation.keys.keyring import Keyring
    from gateway.installation.state import StateFolder

    typer.echo(Keyring(StateFolder.of(settings_of(state)).keys).renew(name, scope))


def revoke(name: NameArgument, state: StateOption = None) -> None:
    """Take a bearer key away; a running gateway refuses it from the next request on.

    Example: countersign key revoke desk-2
    """
    from gateway.installation.keys.keyring import Keyring
    from gateway.installation.state import StateFolder

    Keyring(StateFolder.of(settings_of(state)).keys).revoke(name)
    typer.echo(f"{name} has no key any more")


def list_holders(state: StateOption = None) -> None:
    """List who has a bearer key, and its role."""
    from gateway.installation.keys.keyring import Keyring
    from gateway.installation.state import StateFolder

    ring = Keyring(StateFolder.of(settings_of(state)).keys)
    typer.echo("\n".join(f"{name:32} {role}" for role in Role for name in ring.names_of(role)))


def replace_officer(
    role: Annotated[SigningRole, typer.Argument(help="whose key")],
    public: Annotated[Path, typer.Option(help="the new public key file, from `officer-key`")],
    reason: Annotated[str, typer.Option(help="why; recorded")],
    risk_key: RiskKeyOption = None,
    compliance_key: ComplianceKeyOption = None,
    state: StateOption = None,
) -> None:
    """Put another officer's public key in place of the present one, on record.

    Both present officers sign, so a lost key cannot be replaced this way. Stop the gateway first;
    afterwards both officers sign the policy again. The role cannot be left without a key.

    Example: countersign key replace-officer risk --public new/risk.pub --reason "new risk officer"
    --risk-key FILE --compliance-key FILE
    """
    from gateway.installation.keys.succession import replace_officer as follow

    keys = {"risk": risk_key, "compliance": compliance_key}
    raise typer.Exit(follow(settings_of(state), role, public, reason, keys))
