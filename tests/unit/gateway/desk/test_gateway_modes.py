"""Modes: what each needs, and whose account and session it is."""

import itertools
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.records.kinds import Kind
from audit.records.record import Draft
from gateway.desk.officers.governing.modes import (
    ModeWanted,
    RunsNow,
    mode_statement,
    needs,
    refuse_mode,
    signatures_needed,
)
from gateway.errors import ModeRefusedError, SettingsError
from gateway.installation.keys.kept_signatures import (
    SIGNED,
    keep_signature,
    kept_signatures,
)
from gateway.installation.policies.policy import POLICIES
from gateway.walk.journal.control.modes import Mode, mode_entered
from gateway.walk.journal.session import RECONCILED, SessionEvent
from gateway.walk.ports import Tags
from gateway.walk.projections.modes import MODE_KINDS, ModeHistory, mode_history
from risk.policy.policy import parse_policy
from tests.doubles.memory_desk import memory_desk

KEYS = {role: Ed25519PrivateKey.generate() for role in ("risk", "compliance")}
PUBLIC = {role: key.public_key().public_bytes_raw() for role, key in KEYS.items()}
LOG = "desk.test#00"
MODEL = "5e" * 32
DIGESTS = {name: f"{n}a" * 32 for n, name in enumerate(("code", "instruments", "model", "policy"))}
SHIPPED = parse_policy(POLICIES["desk"].read_bytes()).deployment
assert SHIPPED is not None
NOW = RunsNow(deployment=SHIPPED, digests=DIGESTS, untried="", live=0)


def sessions(count: int, span_us: int = 3_600_000_000) -> list[SessionEvent]:
    """Return reconciled sessions, each on a day of its own."""
    return [
        SessionEvent(
            event=RECONCILED, detail="", span_us=span_us, trading_day=f"2026-01-{n + 1:02}"
        )
        for n in range(count)
    ]


def ready(**changes: Any) -> ModeHistory:  # noqa: ANN401 - its fields
    """Return a history after which pilot may begin with `NOW`."""
    count = changes.pop("sessions", 20)
    given = {
        "mode": "paper",
        "registered": DIGESTS,
        "promoted": {MODEL},
        "reconciled_sessions": sessions(count),
    }
    return ModeHistory(**(given | changes))


def wanted(mode: Mode, **changes: str) -> ModeWanted:
    given = {"account": "desk", "sender": "US", "target": "THEM", "model": MODEL} | changes
    return ModeWanted(mode=mode, **given)


def signed(history: ModeHistory, mode: Mode, *roles: str) -> dict[str, str]:
    text = mode_statement(LOG, history, mode)
    return {role: KEYS[role].sign(text).hex() for role in roles}


def begin(history: ModeHistory, asked: ModeWanted, *roles: str) -> dict[str, str]:
    signatures = signed(history, asked.mode, *roles)
    return refuse_mode(asked, history, log=LOG, signatures=signatures, keys=PUBLIC)


@pytest.mark.parametrize("mode", [Mode.PAPER, Mode.SHADOW])
def test_a_new_ledger_begins_on_paper_or_in_shadow_without_a_signature(mode: Mode) -> None:
    assert begin(ModeHistory(), wanted(mode)) == {}


@pytest.mark.parametrize("mode", [Mode.PILOT, Mode.LIVE])
def test_pilot_and_live_are_refused_and_everything_missing_is_named(mode: Mode) -> None:
    with pytest.raises(ModeRefusedError) as refused:
        begin(ModeHistory(), wanted(mode))
    for word in ("2 officers", "doctor", "sessions", "countersign register", "promotion record"):
        assert word in str(refused.value)


def missing(history: ModeHistory, now: RunsNow = NOW, doctor: int | None = 0) -> list[str]:
    """Return what pilot lacks, with both officers' signatures."""
    found = needs(history, Mode.PILOT, 2, doctor=doctor, model=MODEL, now=now)
    return [one.what for one in found if not one.met]


def test_pilot_needs_each_thing_for_itself() -> None:
    assert missing(ready()) == []
    lacking: list[tuple[ModeHistory, RunsNow, str]] = [
        (ready(promoted={"6f" * 32}), NOW, "promotion record of model pair 5e5e5e5e5e5e5e5e"),
        (ready(), replace(NOW, live=1), "no live order of mode paper, found 1"),
        (ready(), replace(NOW, untried="no trial"), "a trial of the policy .*: no trial"),
        (ready(), replace(NOW, deployment=None), "section `deployment`"),
        (ready(registered={}), NOW, "registered digests"),
        (ready(sessions=19), NOW, "20 reconciled sessions .* found 19 on 19"),
    ]
    for history, now, said in lacking:
        (what,) = missing(history, now)
        assert re.search(said, what)
    for doctor in (None, 1):
        (what,) = missing(ready(), doctor=doctor)
        assert "doctor" in what


@pytest.mark.parametrize("name", sorted(DIGESTS))
def test_each_digest_that_differs_from_its_registration_is_named(name: str) -> None:
    changed = DIGESTS | {name: "00" * 32}
    for registered, present in (
        (DIGESTS, changed),
        (changed, DIGESTS),
        (DIGESTS, {k: v for k, v in DIGESTS.items() if k != name}),
        ({k: v for k, v in DIGESTS.items() if k != name}, DIGESTS),
    ):
        (what,) = missing(ready(registered=registered), replace(NOW, digests=present))
        assert what.endswith(f"differs: {name}")


@pytest.mark.parametrize("mode", [Mode.PILOT, Mode.LIVE])
def test_a_mode_with_money_begins_when_everything_is_there(mode: Mode) -> None:
    history = ready(changed_seq=4)
    signatures = signed(history, mode, "risk", "compliance")

    def begun(doctor: int | None, given: dict[str, str], model: str = MODEL) -> dict[str, str]:
        asked = wanted(mode, model=model)
        return refuse_mode(
            asked, history, log=LOG, signatures=given, keys=PUBLIC, doctor=doctor, now=NOW
        )

    assert begun(0, signatures) == signatures
    one_only = {"risk": signatures["risk"]}
    for bad in ((1, signatures, MODEL), (0, one_only, MODEL), (0, signatures, "6f" * 32)):
        with pytest.raises(ModeRefusedError, match=f"mode {mode} may not begin"):
            begun(*bad)


def test_no_mode_changes_over_a_live_order() -> None:
    for before, after in itertools.permutations(Mode, 2):
        history = ready(mode=before, accounts={})
        found = needs(history, after, 2, doctor=0, model=MODEL, now=replace(NOW, live=2))
        assert [one.what for one in found if not one.met] == [
            f"no live order of mode {before}, found 2 (`countersign cancel-all`)"
        ]


def test_both_officers_sign_the_limits_of_pilot_and_each_change_of_them() -> None:
    history = ModeHistory(mode="pilot", limits="instruments AAA", changed_seq=4)
    assert signatures_needed(history, Mode.PILOT, "instruments AAA") == 0
    assert signatures_needed(history, Mode.PILOT, "instruments AAA,BBB") == 2
    statements = {mode_statement(LOG, history, Mode.PILOT, one) for one in ("", "a", "b")}
    assert len(statements) == 3
    signatures = signed(history, Mode.PILOT, "risk", "compliance")
    with pytest.raises(ModeRefusedError, match="found 0"):
        refuse_mode(
            wanted(Mode.PILOT, limits="instruments AAA,BBB"),
            history,
            log=LOG,
            signatures=signatures,
            keys=PUBLIC,
        )


def test_the_record_of_pilot_has_its_limits(tmp_path: Path) -> None:
    desk = memory_desk(tmp_path)
    tags = Tags(account="desk", run_id="r1", mode="pilot", dev=False)
    desk.log.append(
        mode_entered(tags, before="paper", sender="A", target="B", limits="a", signatures={})
    )
    assert mode_history(desk.log.records(kinds=MODE_KINDS)).limits == "a"


@pytest.mark.parametrize(
    ("before", "mode", "count"),
    [
        ("paper", Mode.PAPER, 0),
        ("paper", Mode.SHADOW, 1),
        ("shadow", Mode.PAPER, 1),
        ("live", Mode.PILOT, 1),
        ("live", Mode.PAPER, 1),
        ("paper", Mode.PILOT, 2),
        ("shadow", Mode.LIVE, 2),
        ("pilot", Mode.LIVE, 2),
        ("", Mode.LIVE, 2),
    ],
)
def test_raising_needs_two_and_lowering_one(before: str, mode: Mode, count: int) -> None:
    assert signatures_needed(ModeHistory(mode=before), mode) == count


def test_a_change_between_paper_and_shadow_needs_one_signature_of_this_change() -> None:
    history = ModeHistory(mode="paper", changed_seq=4, accounts={"desk": "paper"})
    asked = wanted(Mode.SHADOW, account="desk-shadow")
    with pytest.raises(ModeRefusedError, match="1 officers' signatures, found 0"):
        begin(history, asked)
    signatures = signed(history, Mode.SHADOW, "risk")
    assert begin(history, asked, "risk") == signatures
    later = ModeHistory(mode="paper", changed_seq=9)
    with pytest.raises(ModeRefusedError, match="found 0"):
        refuse_mode(asked, later, log=LOG, signatures=signatures, keys=PUBLIC)


def test_an_account_and_a_session_belong_to_one_mode() -> None:
    history = ModeHistory(
        mode="shadow", accounts={"desk": "paper"}, sessions={("US", "THEM"): "paper"}
    )
    with pytest.raises(ModeRefusedError, match="account desk has paper records"):
        begin(history, wanted(Mode.SHADOW))
    with pytest.raises(ModeRefusedError, match="US -> THEM belongs to mode paper"):
        begin(history, wanted(Mode.SHADOW, account="desk-shadow"))
    assert begin(history, wanted(Mode.SHADOW, account="other", sender="US2")) == {}


def test_the_records_tell_the_mode_and_its_bindings(
    tmp_path: Path,
) -> None:
    desk = memory_desk(tmp_path)
    (dev,) = desk.log.of_kind(Kind.RUN_STARTED)
    assert mode_history([dev]).mode == "", "a development run binds nothing"
    tags = Tags(account="desk", run_id="r1", mode="shadow", dev=False)
    draft = mode_entered(tags, before="paper", sender="A", target="B", log=LOG, signatures={})
    (entered,) = desk.log.append(draft)
    served = run_of(desk.log, dev.body, "desk", "r1", "shadow")
    history = mode_history(desk.log.records(kinds=MODE_KINDS))
    assert (history.mode, history.reconciled) == ("shadow", 0)
    assert history.changed_seq == entered.seq < served.seq
    assert history.accounts == {"desk": "shadow"}
    assert history.sessions == {("A", "B"): "shadow"}


def run_of(log: Any, body: dict[str, Any], account: str, run: str, mode: str) -> Any:  # noqa: ANN401
    payload = body | {"account": account, "run_id": run, "mode": mode, "dev": False}
    draft = Draft(
        stream="control",
        kind=Kind.RUN_STARTED,
        payload=payload,
        actor="gateway",
        idem_key=f"run_started:{run}",
    )
    (record,) = log.append(draft)
    return record


def test_officers_signatures_are_kept_one_by_one(tmp_path: Path) -> None:
    assert kept_signatures(tmp_path) == {}
    keep_signature(tmp_path, "risk", "aa")
    keep_signature(tmp_path, "compliance", "bb")
    assert kept_signatures(tmp_path) == {"risk": "aa", "compliance": "bb"}
    (tmp_path / SIGNED).write_text("[")
    with pytest.raises(SettingsError, match="damaged"):
        kept_signatures(tmp_path)
