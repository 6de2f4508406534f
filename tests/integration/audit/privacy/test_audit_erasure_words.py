"""A name that was recorded before anybody knew the person: an erasure says where it stays."""

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from audit.records.kinds import Kind
from audit.records.record import Draft
from audit.upkeep.dump import dump, verify_dump
from fix.wire.messages import wire_text
from gateway.privacy.answers import erase
from gateway.privacy.requests import EraseRequest
from gateway.walk.journal.persons import hide
from tests.doubles.audit_log import note
from tests.doubles.privacy_world import NAME, OTHER, TRUSTED, World, hits, world_at

pytestmark = pytest.mark.postgres


@pytest.fixture
def world(postgres_dsn: str, tmp_path: Path) -> Iterator[World]:
    tmp_path.chmod(0o711)
    with world_at(postgres_dsn, tmp_path) as made:
        yield made


def test_words_from_before_the_person_was_known_are_named_by_number(world: World) -> None:
    seqs = [
        world.ledger.append(draft)[0].seq
        for draft in (
            note(f"{NAME} called about SPXN", "first"),
            note("nothing", f"key of {NAME.upper()}"),
            replace(note("nobody", "third"), actor=f"person:{NAME}"),
            note(NAME.replace("Namen", "Na\u200bmen").upper(), "unseen"),
            note(f"{OTHER} and Namenlos called", "fourth"),
        )
    ]
    world.said(NAME)
    done = erase(
        world.privacy(), "operator", EraseRequest(subject=NAME, basis="GDPR art. 17(1)(b)")
    )
    assert done["in_words"] == seqs[:4]
    again = erase(
        world.privacy(), "operator", EraseRequest(subject=done["subjects"][0], basis="GDPR")
    )
    assert again["in_words"] is None, "nobody knows the name any more"
    world.said(OTHER)
    assert world.privacy().erase(OTHER, basis="GDPR", actor="operator").in_words == (seqs[4],)


def test_no_field_of_a_message_keeps_a_name(world: World, tmp_path: Path) -> None:
    wire = NAME.encode().decode("latin-1")
    tags = (337, 161, 361, 5700, 9999, 12345, 39999, 180, 444)
    messages = [
        ((50, wire), *((tag, wire) for tag in tags), (37, f"{wire}-1"), (375, wire)),
        ((34, "2"), (5700, f"desk of {wire}")),
        ((34, "3"), (20001, OTHER)),
    ]
    for n, fields in enumerate(messages):
        text, personal = hide(wire_text(((35, "8"), *fields)), world.vault)
        digest = sha256(text.encode("latin-1")).hexdigest()
        draft = Draft(
            stream="session/EMS",
            kind=Kind.FIX_INBOUND,
            payload={"offset": n, "raw": text, "msg_type": "8", "digest": digest},
            actor="fix",
            idem_key=f"inbound:{n}",
            personal=personal,
        )
        world.ledger.append(draft)
    world.now_us += 10 * 366 * 86_400 * 1_000_000
    for name, count in ((NAME, len(tags) + 4), (OTHER, 1)):
        done = world.privacy().erase(name, basis="GDPR art. 17(1)(b)", actor="operator")
        assert (done.fields, done.in_words) == (count, ())
        assert not world.vault.find_all(name)
    world.ledger.checkpoint_now()
    dump(world.dsn, tmp_path / "after.dump")
    assert verify_dump(tmp_path / "after.dump", TRUSTED).exit_code == 0
    assert not hits(NAME, tmp_path)
    assert not hits(OTHER, tmp_path)
