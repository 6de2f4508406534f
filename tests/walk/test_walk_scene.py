"""The operator's page at brokers of another make: the book is the broker's after every step.

Real: the commands of the page, PostgreSQL, ledger, FIX child, TCP, HTTP. The broker's engine is
another process: in 4.4 one that is not QuickFIX, and QuickFIX in each version; once over TLS.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from fix.dialects.profile import Tls
from tests.doubles.operator_page import do, edited
from tests.doubles.outside_broker import OTHER_ENGINE, QUICKFIX, OutsideBroker, outside_broker
from tests.doubles.scene import SCRIPT, Scene, closes, play
from tests.doubles.scene_desk import served_desk
from tests.doubles.tls_line import issuer, served_by, sidecar, tls_door

pytestmark = [pytest.mark.walk, pytest.mark.timeout(400)]
NAME = "fix.broker.test"
OURS, THEIRS = "DESK", "BROKER"
COUNTERPARTIES = {
    "another engine, 4.4": ("plain-4.4", (*OTHER_ENGINE, OURS), False),
    "quickfix 4.2": ("plain-4.2", (QUICKFIX, "FIX.4.2", OURS), False),
    "quickfix 4.4 over tls": ("plain-4.4", (QUICKFIX, "FIX.4.4", OURS), True),
    "quickfix 5.0 sp2": ("plain-5.0sp2", (QUICKFIX, "FIX.5.0SP2", OURS), False),
}
"""The shipped profile, the broker's engine with its arguments, whether the line is encrypted."""


@contextmanager
def way_to(broker: OutsideBroker, folder: Path, *, tls: bool) -> Iterator[tuple[int, str]]:
    """Yield the port to connect to, and the end of the profile: its [tls] if it has one."""
    if not tls:
        yield broker.port, ""
        return
    ca, failures = issuer("test ca"), list[str]()
    file = ca.file(folder, "ca")
    with tls_door(served_by(folder, ca, NAME), broker.port) as door:
        reach = Tls(host="127.0.0.1", port=door, server_name=NAME, ca_file=str(file))
        with sidecar(reach, failures=failures) as port:
            told = reach.model_dump(include={"host", "port", "server_name", "ca_file"})
            lines = [f"{key} = {json.dumps(value)}" for key, value in told.items()]
            yield port, "\n".join(["", "[tls]", *lines, ""])
    assert failures == []


@pytest.mark.parametrize("name", COUNTERPARTIES)
def test_the_book_is_the_brokers_after_every_step(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped, engine, tls = COUNTERPARTIES[name]
    with ExitStack() as stack:
        broker = stack.enter_context(outside_broker(tmp_path / "broker", engine, *SCRIPT))
        port, end = stack.enter_context(way_to(broker, tmp_path, tls=tls))
        text = edited(
            do("profile", "example", shipped).stdout,
            name="broker",
            sender_comp_id=OURS,
            target_comp_id=THEIRS,
            port=port,
            resets="by_broker",
            reconnect_s=1,
            replace=True,
        )
        top = tmp_path / "empty"
        desk = stack.enter_context(served_desk(top, port, monkeypatch, text + end))
        scene = Scene(desk, broker)
        play(scene)
        closes(scene)
