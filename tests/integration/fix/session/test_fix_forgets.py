"""A broker that names persons: real session, real child, real ledger; then one of them is erased.

Searched afterwards: every file of the session's folder (store, engine log, inbox, journal, child's
log), the vault, a dump made before and one made after.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from audit.privacy.disclosures import Disclosures
from audit.privacy.erasure import Privacy
from audit.privacy.vault import Vault
from audit.records.kinds import Kind
from audit.records.personal import fields_of, parse_disclosure
from audit.records.record import Record
from audit.sequencer.ledger import Ledger, LedgerConfig
from audit.store.reader import LedgerReader
from audit.upkeep.dump import dump, verify_dump
from fix.dialects.profile import simulator_profile
from fix.durable.inbox import forget
from fix.wire.messages import parse
from fix.wire.persons import restored
from gateway.launch.threads.settler import Settler
from gateway.privacy.logs import clean_logs
from gateway.telemetry.spans import Telemetry
from gateway.walk.projections.outbox import Orders
from gateway.walk.settlement import Received, SettleTools, settle
from tests.doubles.audit_log import ORIGIN, SIGNER
from tests.doubles.audit_server import now_us
from tests.doubles.fix_world import Desk, desk_at, order_fields, until
from tests.doubles.privacy_world import NAME, OTHER, TRUSTED, hits
from tests.doubles.raw_broker import RawBroker

pytestmark = [pytest.mark.broker, pytest.mark.postgres]

WIRE_NAME = NAME.encode().decode("latin-1")
REPORT = (
    (37, "E1"),
    (17, "X1"),
    (150, "0"),
    (39, "0"),
    (151, "700"),
    (14, "0"),
    (57, "dorothea.anderswo"),
    (453, "2"),
    (448, WIRE_NAME),
    (447, "D"),
    (452, "12"),
    (448, "ACME"),
    (447, "D"),
    (452, "1"),
    (58, f"taken by {WIRE_NAME}, thanks"),
)


@dataclass
class World:
    dsn: str
    ledger: Ledger
    reader: LedgerReader
    vault: Vault
    orders: Orders

    def tools(self, desk: Desk) -> SettleTools:
        return SettleTools(
            ledger=self.ledger,
            orders=self.orders,
            session="EMSSIM",
            minor_digits=2,
            instrument=lambda _: pytest.fail("nothing is booked here"),
            market_now_us=now_us,
            persons=self.vault,
            forget=lambda offset: forget(desk.folder / "fix" / "inbox", offset),
        )

    def privacy(self, clean: Callable[[tuple[str, ...]], None] = lambda _: None) -> Privacy:
        return Privacy(
            log=ORIGIN,
            ledger=self.ledger,
            reader=self.reader,
            vault=self.vault,
            disclosures=Disclosures(self.dsn),
            years={},
            now_us=now_us,
            clean=clean,
        )

    def inbound(self) -> list[Record]:
        return list(self.reader.records(kinds=(Kind.FIX_INBOUND,)))


@pytest.fixture
def world(postgres_dsn: str, tmp_path: Path) -> Iterator[World]:
    vault = Vault(tmp_path / "vault")
    config = LedgerConfig(dsn=postgres_dsn, checkpoint_every_s=0)
    ledger = Ledger.open(config, SIGNER, now_us, vault=vault)
    reader, orders = LedgerReader(postgres_dsn), Orders()
    ledger.subscribe(orders.follow)
    try:
        yield World(dsn=postgres_dsn, ledger=ledger, reader=reader, vault=vault, orders=orders)
    finally:
        ledger.close()
        reader.close()


def test_names_in_messages_are_kept_apart_and_forgotten(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "session"
    folder.mkdir()
    with RawBroker() as broker, desk_at(folder, simulator_profile(broker.port)) as desk:
        desk.open()
        order = order_fields()
        assert desk.hand(order).outcome == "sent"
        name = broker.await_type("D")[11]
        sent = broker.say("8", (11, name), *REPORT)
        assert until(lambda: len(desk.child.inbox_since(0)) == 1), desk.log()
        assert desk.child.inbox_since(0)[0].raw == sent
        assert hits(NAME, folder) == ["inbox as utf-8 str NFC"], (
            "the engine's log has forgotten already"
        )

        settler = Settler(desk.child, world.tools(desk), world.reader, Telemetry())
        assert settler.drain()
        assert not hits(NAME, folder)
        (kept,) = desk.child.inbox_since(0)
        assert dict(parse(kept.raw))[37] == "E1", "what is left is the report"
        (record,) = world.inbound()
        body = record.body
        assert "448=ACME" in body["raw"]
        assert [f.path.rpartition("/")[2] for f in fields_of(body)] == ["57", "448", "58"]
        subjects = {f.subject for f in fields_of(body)}
        assert subjects == {world.vault.find(NAME), world.vault.find("dorothea.anderswo")}

        shown = world.privacy().disclose(record.seq, reader="auditor", reason="as sent")
        values = {one.field.path: str(one.value) for one in shown}
        assert restored(body["raw"], values) == sent, "byte for byte, while the keys exist"
        text = next(one.disclosure for one in shown if one.field.path.endswith("/448"))
        assert text is not None
        assert parse_disclosure(text)[2] == WIRE_NAME

        world.ledger.checkpoint_now()
        dump(world.dsn, tmp_path / "before.dump")
        done = world.privacy().erase(NAME, basis="GDPR art. 17(1)(b)", actor="operator")
        assert done.fields == 2
        world.ledger.checkpoint_now()
        dump(world.dsn, tmp_path / "after.dump")
        for path in (tmp_path / "before.dump", tmp_path / "after.dump"):
            assert verify_dump(path, TRUSTED).exit_code == 0
        assert not hits(NAME, tmp_path)
        left = world.privacy().disclose(record.seq, reader="auditor", reason="after")
        assert [one.value for one in left] == ["dorothea.anderswo", None, None]

        # the same session goes on, and the person is somebody new
        again = broker.say("8", (11, name), (17, "X2"), *REPORT[:1], *REPORT[2:])
        assert until(lambda: len(desk.child.inbox_since(0)) == 2)
        assert settler.drain()
        assert world.vault.find(NAME) not in {None, done.subjects[-1]}
        assert again
    assert not hits(NAME, folder)


def test_words_of_the_peer_are_forgotten_whatever_message_brings_them(
    world: World, tmp_path: Path
) -> None:
    """A logout's too, which stays in the log until somebody is erased, and one that was refused."""
    folder = tmp_path / "session"
    folder.mkdir()
    subject = world.vault.subject(NAME)
    words = f"{NAME.upper()} says no".encode().decode("latin-1")
    with RawBroker() as broker, desk_at(folder, simulator_profile(broker.port)) as desk:
        desk.open()
        said = (
            ("3", (45, "1"), (58, words)),
            (
                "j",
                (45, "1"),
                (372, "D"),
                (380, "0"),
                (58, f"again: {NAME.casefold()}".encode().decode("latin-1")),
            ),
            ("9", (37, "E"), (11, "A"), (41, "B"), (39, "2"), (434, "1"), (58, words)),
        )
        for msg_type, *fields in said:
            broker.say(msg_type, *fields)
        assert until(lambda: len(desk.child.inbox_since(0)) == len(said)), desk.log()
        settler = Settler(desk.child, world.tools(desk), world.reader, Telemetry())
        assert settler.drain()
        broker.say("B", (148, words), (33, "1"), (58, words))  # no message of ours: refused, kept
        assert until(lambda: settler.drain() and len(world.inbound()) == len(said) + 1)
        broker.say("5", (58, words))
        log = folder / "fix" / "log"
        assert until(lambda: b"35=5" in b"".join(path.read_bytes() for path in log.iterdir()))
    assert hits(NAME, folder / "fix" / "inbox") == []
    assert hits(NAME, log), "the logout's text, or this shows nothing"
    files = [path for path in folder.rglob("*") if path.is_file() and path.parent == log]
    files.append(folder / "child.log")
    note = tmp_path / "cleaning.json"
    done = world.privacy(
        lambda names: clean_logs([path for path in files if path.exists()], names, note)
    ).erase(NAME, basis="GDPR", actor="operator")
    assert (done.subjects, done.keys_destroyed) == ((subject,), 1)
    assert hits(NAME, tmp_path) == []


def test_a_crash_between_record_and_forgetting_is_made_up_for(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "session"
    folder.mkdir()
    with RawBroker() as broker, desk_at(folder, simulator_profile(broker.port)) as desk:
        desk.open()
        broker.say("8", (11, "OURS"), *REPORT)
        assert until(lambda: len(desk.child.inbox_since(0)) == 1), desk.log()
        (entry,) = desk.child.inbox_since(0)
        tools = world.tools(desk)
        crashed = SettleTools(
            ledger=tools.ledger,
            orders=tools.orders,
            session=tools.session,
            minor_digits=2,
            instrument=tools.instrument,
            market_now_us=now_us,
            persons=world.vault,
        )
        settle(Received(offset=entry.offset, raw=entry.raw), crashed)
        assert hits(NAME, folder)
        settler = Settler(desk.child, tools, world.reader, Telemetry())
        assert settler.drain()
        assert not hits(NAME, folder)
        assert len(world.inbound()) == 1
        # and the whole message once more, as after a ledger that answered too late
        settle(Received(offset=entry.offset, raw=entry.raw), tools)
        assert len(world.inbound()) == 1


def test_an_unreadable_message_is_kept_without_its_name(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "session"
    folder.mkdir()
    desk = Desk(folder, simulator_profile(9))
    sound = f"8=FIX.4.4\x019=5\x0135=8\x0157={OTHER}\x0110=000\x01"
    for offset, raw in enumerate((sound, sound[:-1], sound[:24], f"57={OTHER}")):
        tools = world.tools(desk)
        quiet = SettleTools(
            ledger=tools.ledger,
            orders=tools.orders,
            session="EMSSIM",
            minor_digits=2,
            instrument=tools.instrument,
            market_now_us=now_us,
            persons=world.vault,
        )
        settle(Received(offset=offset, raw=raw), quiet)
    anomalies = list(world.reader.records(kinds=(Kind.FIX_ANOMALY,)))
    assert [r.body["reason"] for r in anomalies] == ["unreadable"] * 4
    for record in world.reader.records():
        assert OTHER.encode() not in record.payload + record.header
    desk.word.close()
