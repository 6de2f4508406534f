"""policy new, show, sign, activate, diff, try, trials, packs, merge and origins; rules."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.place import StateOption, place_of, settings_of

group = typer.Typer(
    name="policy",
    help="Write, check, sign and compare policies: the limits within which the gateway may trade.",
    no_args_is_help=True,
)
PolicyArgument = Annotated[Path, typer.Argument(help="a draft (TOML) or a signed bundle (JSON)")]
PublicOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--public", help="an officer's public key file; repeat (default: those in the key folder)"
    ),
]

PriceOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SYMBOL=PRICE",
        help="price that scales its limits in lots; repeat (default: the table's reference_price)",
    ),
]
BarsOption = Annotated[
    Path | None, typer.Option(help="file of daily bars: the last close of each scales its limits")
]
EquityOption = Annotated[
    str | None,
    typer.Option(help="the account's equity, which scales amounts (default: 100,000,000 minor)"),
]


def register(app: typer.Typer) -> None:
    """Add the verbs of this group."""
    for verb in (new, show, sign, activate, diff):
        group.command()(verb)
    group.command(name="try")(try_draft)
    for later in (trials, packs, merge, origins):
        group.command()(later)
    app.add_typer(group)
    app.command()(rules)


def new(  # noqa: PLR0913, PLR0917 - each argument is an option
    file: Annotated[Path, typer.Argument(help="new file of the draft, such as policy.toml")],
    source: Annotated[
        Path | None, typer.Option("--from", help="start from this policy, as its next version")
    ] = None,
    author: Annotated[
        str, typer.Option(help="code of who writes it, and so may not sign it; it is recorded")
    ] = "",
    days: Annotated[int, typer.Option(min=1, max=3650, help="days of validity, from today")] = 365,
    instruments: Annotated[
        Path | None,
        typer.Option(help="table of instruments: the draft names exactly these, each by its class"),
    ] = None,
    price: PriceOption = None,
    bars: BarsOption = None,
    equity: EquityOption = None,
) -> None:
    """Write a draft with a comment on each number; edit it, then let both officers sign it.

    With --instruments it has a section for each asset class of the table, with reasons for that
    class, and limits in lots that are scaled by price and equity. Without a price an instrument may
    trade one smallest order. All are starting values, which say so. Without --instruments the draft
    names those of the policy that it starts from (SPXN and NDXN).

    Example: countersign policy new policy.toml --author quant-desk --instruments instruments.toml
    --price AAPL=268.35
    """
    from gateway.clock import wall_us
    from gateway.installation.policies.policy_files import DraftOptions
    from gateway.installation.policies.traded import DraftScale
    from gateway.launch.commands.policies import draft_policy

    options = DraftOptions(author=author, days=days, now_us=wall_us())
    scale = DraftScale(prices=tuple(price or ()), bars=bars, equity=equity)
    raise typer.Exit(draft_policy(file, source, options, instruments, scale))


def show(file: PolicyArgument, public: PublicOption = None, state: StateOption = None) -> None:
    """Show a policy's digest, validity, signatures and numbers; exit code 1 if one is wrong.

    Example: countersign policy show policy.bundle.json --public risk.pub --public compliance.pub
    """
    from gateway.clock import wall_us
    from gateway.installation.policies.policy_files import show_policy
    from gateway.installation.state import StateFolder

    folders = StateFolder.of(settings_of(state))
    raise typer.Exit(show_policy(file, public or [], folders, wall_us()))


def sign(
    file: PolicyArgument,
    key: Annotated[Path, typer.Option(help="your private key file, from `officer-key`")],
    public: PublicOption = None,
    trial: Annotated[
        str, typer.Option(help="digest of the trial that you saw, from `policy try --record`")
    ] = "",
    state: StateOption = None,
) -> None:
    """Add one officer's signature; a draft gets a bundle beside it, which the other one signs.

    Refused for the author, for the same role, person or key twice, after an edit, and with another
    trial than the first officer's. Outside paper mode a policy that follows another needs a trial.

    Example: countersign policy sign policy.toml --key /media/risk/risk.key
    """
    from gateway.installation.policies.policy_files import sign_policy_file
    from gateway.installation.state import StateFolder

    folders = StateFolder.of(settings_of(state))
    raise typer.Exit(sign_policy_file(file, key, public or [], folders, trial))


def activate(
    file: Annotated[Path, typer.Argument(help="the bundle that both officers signed")],
    reason: Annotated[str, typer.Option(help="why; recorded")] = "policy activate",
    state: StateOption = None,
) -> None:
    """Put a bundle that both officers signed in force: at once, or at the next start.

    A running gateway ends the decisions under way, then records the new policy; what waits for a
    person must be asked for again. Without a running gateway the next start uses it. Refused if it
    neither follows the policy that is there nor has the same parent; the old one then stays.

    Example: countersign policy activate policy.bundle.json --reason "review of March"
    """
    from gateway.clock import wall_us
    from gateway.launch.commands.policies import activate_now

    raise typer.Exit(activate_now(file, settings_of(state), reason, wall_us()))


def diff(
    before: Annotated[Path, typer.Argument(help="the policy in force, or an earlier one")],
    after: Annotated[Path, typer.Argument(help="the policy that shall follow")],
) -> None:
    """Compare two policies field by field: what loosens, what tightens; exit code 1 if any differs.

    Example: countersign policy diff keys/policy.bundle.json policy.toml
    """
    from gateway.installation.policies.policy_files import diff_policies

    raise typer.Exit(diff_policies(before, after))


def try_draft(
    file: Annotated[Path | None, typer.Argument(help="a draft (TOML) or a bundle (JSON)")] = None,
    last: Annotated[int, typer.Option(min=1, help="how many decisions, newest first")] = 100,
    check: Annotated[
        int | None, typer.Option("--check", help="judge the cases of this record again; compare")
    ] = None,
    state: StateOption = None,
    *,
    record: Annotated[
        bool, typer.Option("--record", help="put the trial on record, for both officers to sign")
    ] = False,
) -> None:
    """Judge the newest decisions again under a draft; print each verdict that would differ.

    Intent and book are the recorded ones; signatures count as given. The trial's digest covers the
    log, the draft, the policy in force, and every verdict since the first of these decisions.

    Example: countersign policy try next.toml --last 500 --record

    Exit codes: 0 no verdict differs, 1 one does, a decision does not replay, or --check differs.
    """
    from gateway.launch.commands.oversight.trials import try_or_check

    raise typer.Exit(try_or_check(settings_of(state), file, last, check, record=record))


def trials(state: StateOption = None) -> None:
    """List the trials on record: digest, draft, policy in force then, what differed.

    Example: countersign policy trials
    """
    from gateway.launch.commands.oversight.trials import list_trials

    with place_of(state) as place:
        raise typer.Exit(list_trials(place))


def packs(
    codes: Annotated[
        list[str] | None, typer.Argument(metavar="[CODE]..", help="such as EU: show every entry")
    ] = None,
) -> None:
    """List the packs of jurisdictions: limits, rules to arm, barred classes, each with its source.

    Example: countersign policy packs EU US
    """
    from gateway.launch.commands.oversight.packs import list_packs

    raise typer.Exit(list_packs(codes or []))


def merge(
    file: PolicyArgument,
    out: Annotated[Path, typer.Option("--out", help="new file of the merged draft (TOML)")],
    pack: Annotated[list[str], typer.Option("--pack", help="code of a pack, such as EU; repeat")],
) -> None:
    """Merge a draft with packs to the strictest of each limit; print who gave each, who differed.

    The merged draft names the packs by digest, and is refused where it is looser than they are.

    Example: countersign policy merge policy.toml --pack EU --pack US --out merged.toml
    """
    from gateway.launch.commands.oversight.packs import merge_draft

    raise typer.Exit(merge_draft(file, [one.upper() for one in pack], out))


def origins(
    file: Annotated[
        Path | None, typer.Argument(help="a draft or bundle (default: that of the key folder)")
    ] = None,
    state: StateOption = None,
) -> None:
    """Show where each number of a policy comes from: its own, or a pack; and what others said.

    Example: countersign policy origins
    """
    from gateway.launch.commands.oversight.packs import show_origins

    raise typer.Exit(show_origins(settings_of(state), file))


def rules(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[RULE]..", help="ids, such as R17 (default: all)")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON for scripts")] = False,
) -> None:
    """Show what each rule measures: version, checks with unit and scope, definition, source.

    A policy says which of them are armed, and their numbers: `countersign policy show`.

    Example: countersign rules R17 R37
    """
    from gateway.installation.policies.rule_list import show_rules

    show_rules(names or [], as_json=as_json)
