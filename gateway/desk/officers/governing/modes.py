"""Which mode may begin: what is needed to raise it, and to change it at all.

Rules:

- All modes of an installation have one ledger; a change of mode is a start on it. An account, and a
  pair of CompIDs, belong to one mode of it for ever.
- No order may be live when the mode changes: its reports belong to the session that sent it.
- Paper and shadow risk no money; a change between them, or down from pilot or live, needs one
  officer's signature. Pilot and live need both, and at every start: a green `doctor`, the signed
  policy's number of reconciled sessions, code, model, policy, dictionary, profile and instruments
  as registered, a trial of the policy that both officers signed, and the promotion of the model.
- A promotion record is one model pair's, by the SHA-256 of its manifest.

Not here: the mark of a FIX store (`installation.keys.mode_mark`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from gateway.desk.controls.statements import signed_by, statement
from gateway.errors import ModeRefusedError
from gateway.walk.journal.control.modes import Mode
from gateway.walk.projections.modes import ModeHistory
from risk.policy.deployment import DeploymentLimits

PURPOSE: Final = "mode change"
_SECOND_US: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeWanted:
    """The mode of a start, with what it is bound to."""

    mode: Mode
    account: str
    sender: str
    target: str
    model: str
    limits: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsNow:
    """What would serve, to be held against the records; the defaults let no money be risked.

    Attributes:
        deployment: the numbers of the signed policy; None if it has none.
        digests: SHA-256 (hex) by name, as `register` records them.
        untried: why the policy counts as untried; empty if both officers signed its trial.
        live: how many orders of the mode on record may be live.
    """

    deployment: DeploymentLimits | None = None
    digests: Mapping[str, str] = field(default_factory=dict)
    untried: str = "it was not looked at"
    live: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One thing that a mode needs, and whether it is there."""

    what: str
    met: bool | None  # None: found out when it starts


def mode_statement(log: str, history: ModeHistory, mode: Mode, limits: str = "") -> bytes:
    """Return the statement that changes the mode; it names the last change, so it holds once."""
    before, after = history.mode or "none", f"after record {history.changed_seq}"
    with_limits = (f"within {limits}",) if limits else ()
    return statement(PURPOSE, log, f"from {before}", f"to {mode}", *with_limits, after)


def signatures_needed(history: ModeHistory, mode: Mode, limits: str = "") -> int:
    """Return how many officers must sign: none to stay or to begin, two to raise, else one.

    Other limits of pilot mode than those on record need two.
    """
    if (history.mode == mode and history.limits == limits) or (
        not history.mode and not mode.risks_money
    ):
        return 0
    lowers = mode is Mode.PILOT and history.mode == Mode.LIVE
    return 2 if mode.risks_money and not lowers else 1


def needs(
    history: ModeHistory,
    mode: Mode,
    signed: int,
    *,
    doctor: int | None,
    model: str,
    limits: str = "",
    now: RunsNow = RunsNow(),
) -> tuple[Need, ...]:
    """Return what a mode needs, to serve a model pair by the SHA-256 of its manifest.

    `doctor` is its exit code, None where the start has yet to ask it.
    """
    wanted = signatures_needed(history, mode, limits)
    found = [Need(what=f"{wanted} officers' signatures, found {signed}", met=signed >= wanted)]
    if history.mode and history.mode != mode:
        said = f"no live order of mode {history.mode}, found {now.live} (`countersign cancel-all`)"
        found.append(Need(what=said, met=now.live == 0))
    if not mode.risks_money:
        return tuple(found)
    said = "asked by the start" if doctor is None else f"exit code {doctor}"
    green = Need(
        what=f"a green `countersign doctor` ({said})", met=None if doctor is None else doctor == 0
    )
    promoted = Need(
        what=f"a promotion record of model pair {model[:16]}.., that no newer report refuses"
        " (`countersign promote`)",
        met=model in history.promoted,
    )
    return (
        *found,
        green,
        sessions_needed(history, now.deployment),
        registration_needed(history, now.digests),
        trial_needed(now.untried),
        promoted,
    )


def sessions_needed(history: ModeHistory, wanted: DeploymentLimits | None) -> Need:
    """Return whether enough sessions are on record, by the numbers of a signed policy."""
    if wanted is None:
        said = "the numbers of reconciled sessions in the signed policy (section `deployment`)"
        return Need(what=said, met=False)
    count, days, span = wanted.sessions_min, wanted.trading_days_min, wanted.session_span_min
    found, on_days = history.meeting(wanted)
    return Need(
        what=f"{count.value} reconciled sessions of {span.value / _SECOND_US:g} s on {days.value}"
        f" trading days, found {found} on {on_days}",
        met=found >= count.value and on_days >= days.value,
    )


def registration_needed(history: ModeHistory, digests: Mapping[str, str]) -> Need:
    """Return whether what would serve is what the newest registration names."""
    registered = history.registered
    names = sorted({*registered, *digests})
    differing = [name for name in names if registered.get(name) != digests.get(name)]
    if not registered:
        return Need(what="registered digests (`countersign register`)", met=False)
    said = f", differs: {', '.join(differing)}" if differing else ""
    return Need(what=f"what serves as registered (`countersign register`){said}", met=not differing)


def trial_needed(untried: str) -> Need:
    """Return whether both officers signed a trial of the policy."""
    said = f": {untried}" if untried else ""
    return Need(
        what=f"a trial of the policy that both officers signed (`countersign policy try`){said}",
        met=not untried,
    )


def refuse_mode(
    wanted: ModeWanted,
    history: ModeHistory,
    *,
    log: str,
    signatures: Mapping[str, str],
    keys: Mapping[str, bytes],
    doctor: int | None = None,
    now: RunsNow = RunsNow(),
) -> dict[str, str]:
    """Refuse a mode that may not begin; return the valid signatures that let it.

    Raises:
        ModeRefusedError: says everything that is missing, and what to do.
    """
    mode, account = wanted.mode, wanted.account
    bound = history.accounts.get(account, mode)
    if bound != mode:
        raise ModeRefusedError(
            problem=f"account {account} has {bound} records in this ledger, and each mode has its"
            f" own account: set COUNTERSIGN_ACCOUNT to another one, such as {account}-{mode}"
        )
    bound = history.sessions.get((wanted.sender, wanted.target), mode)
    if bound != mode:
        raise ModeRefusedError(
            problem=f"the session {wanted.sender} -> {wanted.target} belongs to mode {bound} in"
            " this ledger: set COUNTERSIGN_FIX__SENDER and COUNTERSIGN_FIX__TARGET to those of"
            f" mode {mode}"
        )
    limits = wanted.limits
    signed = signed_by(mode_statement(log, history, mode, limits), signatures, keys)
    found = needs(
        history, mode, len(signed), doctor=doctor, model=wanted.model, limits=limits, now=now
    )
    missing = [one.what for one in found if not one.met]
    if missing:
        raise ModeRefusedError(
            problem=f"mode {mode} may not begin (now {history.mode or 'none'}); it needs"
            f" {'; '.join(missing)}. Officers sign with `countersign mode sign --to {mode} --key"
            " FILE`; to go on as before, set COUNTERSIGN_MODE to the present mode"
        )
    return {role: signatures[role] for role in signed}
