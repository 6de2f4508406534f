"""Keys that others may read or change start nothing; `run` closes what is its own."""

import os
import pwd
import subprocess
from pathlib import Path

import pytest

from audit.errors import KeyFileError
from audit.signers.file import FileSigner
from gateway.errors import CustodyError
from gateway.feeds.instruments.table import PLAYED_TABLE
from gateway.feeds.sessions import load_playback
from gateway.installation.keys.custody import faults, mend_open, refuse_open
from gateway.installation.keys.keyring import Keyring
from gateway.installation.keys.row_keys import make_secret
from gateway.installation.policies.policy import development_policy
from gateway.installation.settings import Settings, load
from gateway.installation.state import StateFolder
from gateway.launch.plan import development_plan, serving_plan
from tests.doubles.officers import LIABLE, part_with_officers
from tests.doubles.other_user import STRANGER


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    """A state folder with every sort of key, as they should be."""
    folder = StateFolder.of(load(state=tmp_path / "state"))
    folder.create()
    development_policy(Keyring.create(folder.keys))
    FileSigner.generate(folder.ledger_key, "countersign.local/dev")
    make_secret(folder.keys)
    folder.vault.mkdir(mode=0o700)
    (folder.vault / "psn-1.subject").touch(0o600)
    return folder


def serving(state: StateFolder) -> Settings:
    """Return settings with which `serve` would start."""
    base = load(state=state.root, keys=state.keys)
    return base.model_copy(
        update={
            "ledger": base.ledger.model_copy(update={"dsn": "postgresql://plain@/ledger"}),
            "fix": base.fix.model_copy(update={"port": 9}),
            "liability": LIABLE,
            "instruments": PLAYED_TABLE,
        }
    )


OPEN = [
    ("keys", 0o750),
    ("keys/operator.token", 0o640),
    ("keys/bearer.json", 0o604),
    ("keys/risk.key", 0o644),
    ("keys/ledger.key", 0o660),
    ("keys/rows.key", 0o640),
    ("keys/ledger.key.pub", 0o664),
    ("keys/policy.bundle.json", 0o646),
    ("vault", 0o711),
    ("vault/psn-1.subject", 0o640),
    (".", 0o733),
]


def test_keys_as_they_are_made_are_their_owners_alone(state: StateFolder) -> None:
    assert list(faults(state)) == []
    part_with_officers(state.keys, state.root.parent)
    assert list(faults(state)) == []
    plan = serving_plan(serving(state))
    assert (plan.tags.dev, plan.fed) == (False, True)


@pytest.mark.parametrize(("name", "mode"), OPEN)
def test_serve_refuses_what_is_open_and_says_what_mends_it(
    state: StateFolder, name: str, mode: int
) -> None:
    path = (state.root / name).resolve()
    path.chmod(mode)
    with pytest.raises(CustodyError) as caught:
        serving_plan(serving(state))
    said = str(caught.value)
    assert f"{path} has mode {mode:o}" in said
    assert "\n" not in said
    _, _, command = said.partition("Type: ")
    subprocess.run(["/bin/sh", "-c", command], check=True)
    assert list(faults(state)) == []


@pytest.mark.parametrize(("name", "mode"), OPEN)
def test_run_mends_its_own(
    state: StateFolder, name: str, mode: int, capsys: pytest.CaptureFixture[str]
) -> None:
    path = (state.root / name).resolve()
    path.chmod(mode)
    development_plan(load(state=state.root), load_playback())
    assert list(faults(state)) == []
    assert f"{path} has mode {mode:o}" in capsys.readouterr().err


def test_what_outsiders_are_given_may_be_read_by_them(state: StateFolder) -> None:
    for name in ("ledger.key.pub", "policy.bundle.json"):
        (state.keys / name).chmod(0o644)
    assert list(faults(state)) == []


def test_a_key_of_another_owner_is_refused(state: StateFolder) -> None:
    """Only root can give a file away; elsewhere a file of root's stands for it: refused unread."""
    path = state.keys / "operator.token"
    if os.geteuid() != 0:
        path.unlink()
        path.symlink_to("/etc/passwd")
        assert [one.path for one in faults(state)] == [path]
        return
    os.chown(path, pwd.getpwnam(STRANGER).pw_uid, -1)
    for refused in (refuse_open, mend_open):
        with pytest.raises(CustodyError, match=f"belongs to user .*chown 0 {path}"):
            refused(state)
    os.chown(state.ledger_key, pwd.getpwnam(STRANGER).pw_uid, -1)
    with pytest.raises(KeyFileError, match="belongs to user"):
        FileSigner.load(state.ledger_key, "countersign.local/dev")


def test_a_folder_above_that_everybody_may_change_is_refused(state: StateFolder) -> None:
    top = state.root.parent
    top.chmod(0o777)
    with pytest.raises(CustodyError, match=f"{top} can be changed by everybody"):
        refuse_open(state)
    mend_open(state)
    assert top.stat().st_mode & 0o777 == 0o777, "what is above is not ours to change"
    top.chmod(0o1777)
    refuse_open(state)


def test_parts_that_an_earlier_version_left_open_are_closed(state: StateFolder) -> None:
    for name in ("logs", "fix"):
        (state.root / name).chmod(0o755)
    state.kill_word.touch(0o644)
    state.kill_word.chmod(0o644)
    state.create()
    modes = {n: (state.root / n).stat().st_mode & 0o777 for n in ("logs", "fix", "kill.word")}
    assert modes == {"logs": 0o700, "fix": 0o700, "kill.word": 0o600}
    assert state.root.stat().st_mode & 0o777 == 0o711
