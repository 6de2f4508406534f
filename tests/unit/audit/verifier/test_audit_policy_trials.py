"""Both verifiers ask a log for the trial that a policy's signatures name."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from audit.records.canonical import JSON
from audit.records.kinds import Kind
from audit.records.record import Draft
from tests.doubles.audit_log import dump_of, empty_position, policy, policy_digest, started
from tests.doubles.both_verifiers import both
from tests.doubles.broker_files import LOG, SIGNER, SignedLog

FIRST, SECOND = policy_digest("first"), policy_digest("second")
NAMES = {FIRST: "first", SECOND: "second"}
DATA = b"a trial"
TRIAL = sha256(DATA).hexdigest()


@pytest.fixture
def log() -> SignedLog:
    """A log with a key of its own, a live run and its first policy."""
    made = SignedLog(position=replace(empty_position(), log=LOG))
    made.blobs[bytes.fromhex(TRIAL)] = DATA
    run = {**started().payload, "run_id": "run-1", "dev": False, "mode": "live"}
    _append(made, Kind.RUN_STARTED, run)
    activate(made, FIRST, ())
    return made


def activate(log: SignedLog, digest: str, trials: tuple[str, ...], *, dev: bool = False) -> None:
    signer = {"role": "risk", "signer": "ada", "signature": "0" * 128}
    signatures = [{**signer, "trial": one} if one else signer for one in trials or ("",)]
    payload = policy(NAMES[digest]).payload
    _append(
        log,
        Kind.POLICY_ACTIVATED,
        {
            **payload,
            "signatures": [*signatures],
            "signed_by": ["risk:ada" for _ in signatures],
            "reason": "tested",
            "run_id": "run-1",
            "dev": dev,
        },
    )


def tried(log: SignedLog, trial: str, draft: str, follows: str) -> None:
    payload: dict[str, JSON] = {
        "policy_digest": draft,
        "policy": policy(NAMES[draft]).payload["policy"],
        "follows_digest": follows,
        "trial_blob": trial,
        "first_seq": 1,
        "last_seq": 2,
        "verdicts": 2,
        "flips": 0,
        "untried": 0,
        "actor_name": "operator",
    }
    _append(log, Kind.POLICY_TRIED, payload)


def _append(log: SignedLog, kind: Kind, payload: dict[str, JSON]) -> None:
    key = f"{kind}:{len(log.rows)}"
    log.append(Draft(stream="control", kind=kind, payload=payload, actor="cli", idem_key=key))


def judged(log: SignedLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    log.checkpoint()
    (tmp_path / "dump").write_bytes(b"".join(dump_of(log)))
    return both(capsys, str(tmp_path / "dump"), "--key", str(SIGNER.vkey))


def test_a_policy_without_a_trial_stays_valid(
    log: SignedLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    activate(log, SECOND, ("", ""))
    code, said = judged(log, tmp_path, capsys)
    assert code == 0, said
    assert "0 of 1 policies that followed another" in said


@pytest.mark.parametrize(
    ("trial", "draft", "follows"),
    [("", SECOND, FIRST), (TRIAL, FIRST, FIRST), (TRIAL, SECOND, SECOND)],
)
def test_a_signed_trial_that_no_record_has_is_found(
    log: SignedLog,
    trial: str,
    draft: str,
    follows: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if trial:
        tried(log, trial, draft, follows)
    activate(log, SECOND, (TRIAL, TRIAL))
    code, said = judged(log, tmp_path, capsys)
    assert "its officers signed a trial that no earlier record has" in said
    assert code == 1


def test_a_signed_trial_on_record_is_counted(
    log: SignedLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tried(log, TRIAL, SECOND, FIRST)
    activate(log, SECOND, (TRIAL, TRIAL))
    code, said = judged(log, tmp_path, capsys)
    assert code == 0, said
    assert "1 of 1 policies that followed another: both signatures name a trial" in said
