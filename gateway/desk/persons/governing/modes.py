"""Which mode may begin: what is needed to raise it, and to change it at all.

Rules:

- An account, and a pair of CompIDs, belong to one mode of a ledger for ever.
- Paper and shadow risk no money; a change between them, or down from pilot or live, needs one
  officer's signature. Pilot and live need both, a green `doctor`, reconciled sessions, a promotion
  record and registered digests.
- A promotion record is one model pair's, by the SHA-256 of its manifest.

Not here: the folder's own mark (`installation.keys.mode_mark`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gateway.desk.persons.statements import signed_by, statement
from gateway.errors import ModeRefusedError
from gateway.walk.journal.control.modes import Mode
from gateway.walk.projections.modes import ModeHistory

PURPOSE: Final = "mode change"
SESSIONS_MIN: Final = 20
"""Reconciled paper or shadow sessions before pilot or live; the house's own number."""


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
) -> tuple[Need, ...]:
    """Return what a mode needs, to serve a model pair by the SHA-256 of its manifest.

    `doctor` is its exit code, None where the start has yet to ask it.
    """
    wanted = signatures_needed(history, mode, limits)
    found = [Need(what=f"{wanted} officers' signatures, found {signed}", met=signed >= wanted)]
    if not mode.risks_money:
        return tuple(found)
    said = "asked by the start" if doctor is None else f"exit code {doctor}"
    return (
        *found,
        Need(
            what=f"a green `countersign doctor` ({said})",
            met=None if doctor is None else doctor == 0,
        ),
        Need(
            what=f"{SESSIONS_MIN} reconciled paper or shadow sessions on record,"
            f" found {history.reconciled}",
            met=history.reconciled >= SESSIONS_MIN,
        ),
        Need(what="registered digests (`countersign register`)", met=history.registered),
        Need(
            what=f"a promotion record of model pair {model[:16]}.. (`countersign promote`)",
            met=model in history.promoted,
        ),
    )


def refuse_mode(
    wanted: ModeWanted,
    history: ModeHistory,
    *,
    log: str,
    signatures: Mapping[str, str],
    keys: Mapping[str, bytes],
    doctor: int | None = None,
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
    found = needs(history, mode, len(signed), doctor=doctor, model=wanted.model, limits=limits)
    missing = [one.what for one in found if not one.met]
    if missing:
        raise ModeRefusedError(
            problem=f"mode {mode} may not begin (now {history.mode or 'none'}); it needs"
            f" {'; '.join(missing)}. Officers sign with `countersign mode sign --to {mode} --key"
            " FILE`; to go on as before, set COUNTERSIGN_MODE to the present mode"
        )
    return {role: signatures[role] for role in signed}
