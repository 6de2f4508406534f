"""A kill is released by two roles, for one press, with each order named that may still work."""

from pathlib import Path
from typing import cast

import pytest

from audit.records.kinds import Kind
from audit.store.reader import LedgerReader
from fix.durable.journal import Journal
from fix.durable.kill_word import KillWord
from fix.orders.live import LiveOrder
from gateway.desk.controls.statements import release_statement
from gateway.desk.officers.release import kill_state, release_press
from gateway.errors import NotReadyError, ReleaseRefusedError
from gateway.installation.keys.keyring import SIGNING_ROLES, Keyring
from gateway.installation.keys.log_id import log_id
from gateway.installation.settings import load
from gateway.installation.state import StateFolder
from gateway.launch.commands.kill import release_kill
from tests.doubles.memory_desk import MemoryDesk
from tests.doubles.memory_ledger import MemoryLedger


def signed(desk: MemoryDesk, epoch: int, press_id: str, *live: str) -> dict[str, str]:
    own = desk.small.desk.own
    text = release_statement(log_id(own.reader, own.origin), epoch, press_id, live)
    return {role: own.keyring.signing_key(role).sign(text).hex() for role in SIGNING_ROLES}


def test_only_the_press_in_force_is_released(desk: MemoryDesk) -> None:
    own = desk.small.desk.own
    with pytest.raises(ReleaseRefusedError, match="epoch 0 is not in force"):
        release_press(own, "operator", 0, {}, "nothing to release")
    own.kill_switch.press(actor="operator", reason="a test")
    press = own.kill_switch.newest
    signatures = signed(desk, press.kill_epoch, press.press_id)
    for epoch in (press.kill_epoch - 1, press.kill_epoch + 1):
        with pytest.raises(ReleaseRefusedError, match="not in force"):
            release_press(own, "operator", epoch, signatures, "over")
    for role in SIGNING_ROLES:
        with pytest.raises(ReleaseRefusedError, match="both roles"):
            release_press(own, "operator", press.kill_epoch, {role: signatures[role]}, "over")
    assert own.word.read().killed
    released = release_press(own, "operator", press.kill_epoch, signatures, "over")
    assert released == {"kill_epoch": press.kill_epoch, "killed": False, "live": []}
    assert not own.word.read().killed
    with pytest.raises(ReleaseRefusedError, match="not in force"):
        release_press(own, "operator", press.kill_epoch, signatures, "again")
    assert len(desk.log.of_kind(Kind.KILL_RELEASED)) == 1


def test_a_release_names_each_order_that_may_still_work(desk: MemoryDesk) -> None:
    own = desk.small.desk.own
    standing = desk.rest()
    own.kill_switch.press(actor="operator", reason="a test")
    press = own.kill_switch.newest
    epoch, order = press.kill_epoch, standing.cl_ord_id
    state = kill_state(own)
    assert state["live"] == [order]
    assert state["to_sign"].endswith(f"\nalthough live {order}\n")
    blind, knowing = signed(desk, epoch, press.press_id), signed(desk, epoch, press.press_id, order)
    for signatures, live in ((blind, ()), (knowing, ()), (blind, (order,))):
        with pytest.raises(
            ReleaseRefusedError, match="may still work" if not live else "must sign"
        ):
            release_press(own, "operator", epoch, signatures, "over", live)
    assert own.word.read().killed
    assert not desk.log.of_kind(Kind.KILL_RELEASED)
    released = release_press(own, "operator", epoch, knowing, "over", (order,))
    assert released["live"] == [order]
    (record,) = desk.log.of_kind(Kind.KILL_RELEASED)
    assert record.body["live"] == [standing.cl_ord_id]


def test_the_state_of_a_kill_has_what_is_to_be_signed(desk: MemoryDesk) -> None:
    own = desk.small.desk.own
    assert kill_state(own) == {"kill_epoch": 0, "killed": False}
    own.kill_switch.press(actor="operator", reason="a test")
    press, state = own.kill_switch.newest, kill_state(own)
    log = log_id(own.reader, own.origin)
    assert (state["kill_epoch"], state["killed"], state["log_id"]) == (1, True, log)
    assert state["press_id"] == press.press_id
    assert state["to_sign"].encode() == release_statement(log, 1, press.press_id)
    assert state["on_record"]["kill_epoch"] == 1
    assert desk.small.desk.parts()["kill"] == "in force, epoch 1"


def test_an_empty_ledger_has_no_name() -> None:
    with pytest.raises(NotReadyError, match="empty"):
        log_id(cast("LedgerReader", MemoryLedger()), "o")


def test_without_a_gateway_the_journal_says_what_may_still_work(tmp_path: Path) -> None:
    state = StateFolder.of(load(state=tmp_path))
    state.create()
    Keyring.create(state.keys)
    KillWord(state.kill_word, create=True).press()
    journal = Journal(state.fix_journal)
    journal.opened(LiveOrder(cl_ord_id="Q7", fields=((11, "Q7"),), inbox_offset=0))
    journal.close()
    with pytest.raises(ReleaseRefusedError, match="1 orders may still work at the broker: Q7"):
        release_kill(load(state=tmp_path), "over", {})
    state.fix_journal.write_bytes(b"{}\n")
    with pytest.raises(ReleaseRefusedError, match="start the gateway"):
        release_kill(load(state=tmp_path), "over", {}, although_live=True)
    assert KillWord(state.kill_word).read().killed
