"""A session through a TLS sidecar, with a test CA; the wrong name or CA gets no logon."""

from pathlib import Path

import pytest

from fix.dialects.profile import Tls
from fix.session.link import SessionState
from tests.doubles.fix_world import desk_at, order_fields, until
from tests.doubles.outside_broker import OTHER_ENGINE, outside_broker, plain
from tests.doubles.tls_line import issuer, served_by, sidecar, tls_door

pytestmark = pytest.mark.broker
NAME = "fix.broker.test"


def reach(port: int, ca_file: Path) -> Tls:
    return Tls(host="127.0.0.1", port=port, server_name=NAME, ca_file=str(ca_file))


def test_an_order_goes_and_its_fill_comes_through_tls(tmp_path: Path) -> None:
    ca = issuer("test ca")
    failures: list[str] = []
    with (
        outside_broker(tmp_path / "broker", OTHER_ENGINE, "fill") as broker,
        tls_door(served_by(tmp_path, ca, NAME), broker.port) as door,
        sidecar(tls := reach(door, ca.file(tmp_path, "ca")), failures=failures) as port,
    ):
        profile = plain("plain-4.4", port, tls=tls.model_dump())
        with desk_at(tmp_path, profile) as desk:
            desk.open()
            fields = order_fields("over tls", profile)
            assert desk.hand(fields).outcome == "sent"
            assert until(lambda: desk.statuses(dict(fields)[11]) == ["0", "1", "2"])
    assert failures == []


@pytest.mark.parametrize("wrong", ["name", "ca"])
def test_who_is_not_the_broker_gets_no_logon(tmp_path: Path, wrong: str) -> None:
    ca, other = issuer("test ca"), issuer("another ca")
    served = served_by(tmp_path, *((ca, "else.test") if wrong == "name" else (other, NAME)))
    failures: list[str] = []
    with (
        outside_broker(tmp_path / "broker", OTHER_ENGINE, "fill") as broker,
        tls_door(served, broker.port) as door,
        sidecar(tls := reach(door, ca.file(tmp_path, "ca")), failures=failures) as port,
    ):
        profile = plain("plain-4.4", port, tls=tls.model_dump())
        with desk_at(tmp_path, profile) as desk:
            desk.child.start()
            desk.child.logon(min_next_sender=1)
            assert until(lambda: len(failures) > 1)
            assert desk.child.state is SessionState.CONNECTING
            assert broker.wire("A") == []
    expected = "Hostname mismatch" if wrong == "name" else "certificate verify failed"
    assert all(expected in one for one in failures)
