"""Both verifiers want as many officers' signatures as the gateway does, and find one that lacks."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from audit.records.kinds import Kind
from audit.records.record import Draft
from gateway.desk.officers.governing.modes import signatures_needed
from gateway.desk.officers.stops import BY_BOTH
from gateway.installation.keys.keyring import SIGNING_ROLES
from gateway.walk.journal.control.modes import Mode
from gateway.walk.projections.modes import ModeHistory
from risk.state.state import Stop
from tests.doubles.audit_log import empty_position
from tests.doubles.both_verifiers import judged_by_both, told
from tests.doubles.broker_files import LOG, SignedLog, written_again
from tests.doubles.forged_scenes import SCENES

MODES = ("", *(one.value for one in Mode))
BY_TWO = (
    ("governed", Kind.MODEL_PROMOTED),
    ("governed", Kind.STOP_ENDED),
    ("governed", Kind.FAIRNESS_AGREED),
    ("governed", Kind.JUSTIFICATION_ENTERED),
    ("governed", Kind.KILL_RELEASED),
    ("governed", Kind.MODE_ENTERED),
    ("resolved", Kind.DIFFERENCE_RESOLVED),
)
"""What only two officers may do, with the scene that has it signed by both."""


def empty_log() -> SignedLog:
    """Return a log with a key of its own and one record."""
    made = SignedLog(position=replace(empty_position(), log=LOG))
    add(made, Kind.OPERATOR_NOTE, text="x")
    return made


def add(log: SignedLog, kind: Kind, **payload: Any) -> None:  # noqa: ANN401 - any field
    number = len(log.rows)
    log.append(
        Draft(stream="control", kind=kind, payload=payload, actor="cli", idem_key=f"r:{number}")
    )


def signed_by(log: SignedLog, count: int) -> dict[str, Any]:
    """Return so many signatures, whose keys nobody asks for here, for this log."""
    named = f"{LOG}#{bytes(log.rows[0]['leaf']).hex()}"
    return {"signatures": dict.fromkeys(SIGNING_ROLES[:count], "0" * 128), "log_id": named}


def wrong(found: Mapping[str, tuple[int, str]], statement: str) -> set[str]:
    """Return the logs of which a statement's signatures were too few."""
    said = ("fewer officers signed it", "not both officers' signatures")
    return {
        name
        for name, (_, text) in found.items()
        if any(f": {statement}: " in line and any(map(line.count, said)) for line in _lines(text))
    }


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("TAMPERED: ")]


def test_a_change_of_mode_needs_the_signatures_that_the_gateway_asks_for(tmp_path: Path) -> None:
    asked: dict[str, tuple[SignedLog, list[str]]] = {}
    lacking: set[str] = set()
    for before, mode, same in product(MODES, Mode, (True, False)):
        history = ModeHistory(mode=before, limits="a" * 64 if before else "")
        limits = history.limits if same else "b" * 64
        needed = signatures_needed(history, mode, limits)
        for count in range(3):
            log, place = empty_log(), {"account": "a", "sender": "S", "target": "T"}
            if before:
                first = {"mode": before, "before": "", "limits": history.limits}
                add(log, Kind.MODE_ENTERED, **place, **first, **signed_by(log, 2))
            changed = {"mode": mode.value, "before": before, "limits": limits}
            add(log, Kind.MODE_ENTERED, **place, **changed, **signed_by(log, count))
            log.checkpoint()
            name = f"{before or 'none'} to {mode}, limits {same}, signed by {count}"
            asked[name] = (log, [])
            if count < needed:
                lacking.add(name)
    assert wrong(judged_by_both(asked, tmp_path), "mode") == lacking


def test_an_end_of_stops_needs_both_officers_as_soon_as_one_of_them_does(tmp_path: Path) -> None:
    asked: dict[str, tuple[SignedLog, list[str]]] = {}
    lacking: set[str] = set()
    for first, second in product(Stop, Stop):
        for count in range(3):
            log = empty_log()
            ids = ["ab" * 16, "cd" * 16]
            for stop, stop_id in zip((first, second), ids, strict=True):
                add(
                    log,
                    Kind.STOP_BEGUN,
                    stop=stop.value,
                    stop_id=stop_id,
                    actor_name="ada",
                    reason="x",
                )
            ended = {"stop_ids": ids, "ended_by": "ada", "reason": "x"}
            add(log, Kind.STOP_ENDED, **ended, **signed_by(log, count))
            log.checkpoint()
            name = f"{first} and {second}, signed by {count}"
            asked[name] = (log, [])
            if count < len(SIGNING_ROLES) and {first, second} & set(BY_BOTH):
                lacking.add(name)
    assert wrong(judged_by_both(asked, tmp_path), "resume") == lacking


@pytest.mark.parametrize("scene", ["governed", "resolved"])
def test_what_two_must_sign_is_found_when_one_did(tmp_path: Path, scene: str) -> None:
    log = SCENES[scene](tmp_path).ledger()
    kinds = [kind for name, kind in BY_TWO if name == scene]

    def only(role: str, kind: Kind) -> SignedLog:
        return written_again(log, told(kind, signatures=lambda given: {role: given[role]}))

    asked: dict[str, tuple[SignedLog, list[str]]] = {
        f"{kind.value} by {role}": (only(role, kind), [])
        for kind, role in product(kinds, SIGNING_ROLES)
    }
    for name, (code, text) in judged_by_both(asked, tmp_path).items():
        assert (code, "signed" in text or "signatures" in text) == (1, True), (name, text)
