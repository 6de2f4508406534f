"""A ledger brought back after a disk was lost: it goes on, but only on a person's word.

The FIX session's folder and the simulator's are gone, as they are after a loss: neither is in a
backup. Then the session's alone is lost, and the broker remembers all of it.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from audit.upkeep.dump import verify_database
from gateway.clock import wall_us
from gateway.errors import RequestError, SessionLostError
from gateway.evidence.backup import back_up, bring_back
from gateway.evidence.integrity import Given
from gateway.installation import settings as settings_module
from gateway.installation.children.simulator import wait_for
from gateway.installation.keys.log_keys import own_vkeys
from gateway.installation.keys.rotation import finish_rotation, rotate_key
from gateway.installation.place import attached
from gateway.installation.state import StateFolder
from gateway.launch.app import App, running
from tests.doubles import live_desk
from tests.doubles.state_folder import state_folder

pytestmark = [pytest.mark.walk, pytest.mark.timeout(240)]


@pytest.fixture
def other_state() -> Iterator[Path]:
    """The folder that is restored into."""
    with state_folder() as folder:
        yield folder


@contextmanager
def desk(state: Path, word: str = "") -> Iterator[App]:
    """Yield a running gateway, started with the word for a new session or without."""
    plan = live_desk.plan_for(state)
    fix = plan.settings.fix.model_copy(update={"new_session": word})
    plan = replace(plan, settings=plan.settings.model_copy(update={"fix": fix}))
    with running(plan, lambda _: None) as app:
        wait_for(lambda: app.engine.wait_ready(0.1), 20.0, part="scripted engine")
        yield app


def trade(app: App) -> None:
    """Have one order filled."""
    decision = live_desk.decide(app, live_desk.sessions(1)[0])

    def sealed() -> bool:
        standing = app.orders.get(decision.decision_id)
        return standing is not None and standing.sealed

    wait_for(sealed, 10.0, part="the order")
    standing = app.orders.get(decision.decision_id)
    assert standing is not None
    assert standing.order_state == "FILLED", (decision.result, standing.order_state)


def size_of(state: Path) -> int:
    with attached(settings_module.load(state=state)) as place:
        return place.reader.head().size


def bodies(reader: LedgerReader, kind: Kind, field: str) -> list[str]:
    return [str(record.body[field]) for record in reader.records(kinds=(kind,))]


def carried_over(old: Path, new: Path) -> None:
    """Back a ledger up and bring it back elsewhere, with keys and vault, as docs/operate.md says.

    Between the two the log changed its key, and the earlier one is destroyed.
    """
    file = old / "l.backup"
    settings = settings_module.load(state=old)
    with attached(settings) as place:
        back_up(place, file)
    key = StateFolder.of(settings).ledger_vkey.read_text()
    rotate_key(settings, "file")
    finish_rotation(settings)
    code = bring_back(
        settings_module.load(state=new),
        file,
        Given(keys=(key,)),
        accept_older=False,
        reason="test",
    )
    assert code == 0
    for name in ("keys", "vault"):
        shutil.copytree(old / name, new / name)


def refused(state: Path) -> str:
    """Start without the word, twice; return why it was refused, with nothing written."""
    before, said = size_of(state), ""
    for _ in range(2):
        with pytest.raises(SessionLostError) as caught, desk(state):
            pass
        said = str(caught.value)
    assert size_of(state) == before
    return said


def test_a_restored_ledger_goes_on_with_a_new_session_on_somebodys_word(
    walk_state: Path, other_state: Path
) -> None:
    with desk(walk_state) as app:
        trade(app)
    carried_over(walk_state, other_state)

    why = refused(other_state)
    assert "inbox" in why
    assert "store would send number 1 next" in why
    assert "--new-fix-session" in why

    with desk(other_state, "the disk is lost") as app:
        trade(app)
        numbers = bodies(app.reader, Kind.ORDER_SENT, "msg_seq_num")
    assert int(numbers[1]) > int(numbers[0])
    with pytest.raises(RequestError, match="lacks nothing"), desk(other_state, "again"):
        pass
    shutil.rmtree(other_state / "fix")  # this broker remembers
    assert "inbox" in refused(other_state)
    with desk(other_state, "lost once more") as app:
        trade(app)
    with desk(other_state) as app:
        trade(app)
        reader, keys = app.reader, own_vkeys(app.plan.state.ledger_key)
        app.ledger.checkpoint_now()
        assert verify_database(app.dsn, keys, now_us=wall_us()).exit_code == 0
        names = bodies(reader, Kind.ORDER_SENDING, "cl_ord_id")
        assert (len(names), len(set(names))) == (4, 4)
        offsets = bodies(reader, Kind.FIX_INBOUND, "offset")
        assert len(set(offsets)) == len(offsets)
        assert [int(one) for one in offsets] == sorted(int(one) for one in offsets)
        assert bodies(reader, Kind.FIX_ANOMALY, "reason") == []
        events = reader.records(kinds=(Kind.SESSION_EVENT,))
        said = [str(r.body["detail"]) for r in events if r.body["event"] == "new_fix_session"]
        assert [one.partition(":")[0] for one in said] == ["the disk is lost", "lost once more"]
